"""Memory: storing what happens in turns, and recalling it for the right people."""
