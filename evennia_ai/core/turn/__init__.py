"""The state of one turn: what it carries, what it may do, and how it ends."""
