"""Tests of the demo world, in a test database of the demo game."""
