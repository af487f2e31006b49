"""Bundles: the file in which an assistant moves from game to game, written and read."""
