"""Memory: memories and profiles of an assistant, lore, and the state of the store."""
