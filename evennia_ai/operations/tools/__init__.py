"""Tools of an assistant: run by hand, and those of others that are held back."""
