"""Settings: each is one line of a pydantic model, with default, bounds and help."""
