"""The demo game's server folder: `conf` is read by Evennia, `play` is run by `make play`."""
