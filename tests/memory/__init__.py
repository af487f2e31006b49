"""Tests of memories: the stores, and a whole scripted week."""
