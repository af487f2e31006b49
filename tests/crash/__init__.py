"""Killing a server process between any two of its writes, and looking at what is left."""
