"""Health of all assistants and of the services they depend on, and counts for metrics."""
