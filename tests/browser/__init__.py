"""The webclient in a real browser: what a player's page makes of what an assistant says."""
