"""Settings and URLs of the demo game."""
