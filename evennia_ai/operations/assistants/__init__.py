"""Assistants as a whole: made, adopted, changed, copied, let go and removed."""
