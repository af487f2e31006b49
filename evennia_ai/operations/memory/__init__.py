"""Memory: what an assistant remembers of whom, the lore, and the condition of the store."""
