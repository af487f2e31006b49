"""Dry runs: try a message on an assistant, as it is or changed, without storing anything."""
