"""Memory: what is kept of a turn, what is told of it later, and to whom."""
