"""Memory: what is stored of a turn, and which of it later reaches a prompt, for whom."""
