"""The demo game's server directory: what Evennia reads (`conf`) and what `make play` runs (`play`)."""
