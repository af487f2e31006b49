"""Delegated tasks and requests, and who waits for their reports."""
