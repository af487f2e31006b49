"""Dry runs: a message is tried on an assistant, as it is or changed, and nothing is stored."""
