"""Settings as pydantic models: each has its type, default, bounds and help on one line."""
