"""Memory storage: the authoritative table of memories, and a vector index that searches it."""
