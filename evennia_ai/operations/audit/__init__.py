"""The audit log of an assistant: read, checked, and people's edits taken back by it."""
