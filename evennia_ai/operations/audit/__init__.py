"""The audit log of an assistant: read it, check it, and undo people's edits by it."""
