"""Health of all assistants and of what they depend on, and counts for metrics."""
