"""Tests that kill a server process between any two of its writes, and check what is left."""
