"""Bundles: files by which an assistant moves from one game to another, written and read."""
