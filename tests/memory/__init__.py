"""What is remembered: the stores, and a whole week of it."""
