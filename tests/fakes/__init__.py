"""Servers and doubles that tests and benchmarks share; nothing here is shipped."""
