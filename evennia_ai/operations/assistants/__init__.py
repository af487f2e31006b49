"""Assistants as a whole: created, adopted, changed, cloned, released and removed."""
