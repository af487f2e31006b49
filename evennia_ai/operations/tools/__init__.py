"""Tools of an assistant: run by hand, and remote tools held back until they are approved."""
