"""Tests of the REST API: rights, error answers, and the way into the game's thread."""
