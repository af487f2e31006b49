"""Placeholder until the merge."""


def explained(error: Exception) -> str:
    return f"the table of memories cannot be read: {type(error).__name__}: {error}"
