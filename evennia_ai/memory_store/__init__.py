"""Stores of memories: the table that is true, and vectors that find rows of it by meaning."""
