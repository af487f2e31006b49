"""Values and rules. Standard library only: no clock, no random, no I/O, no logging."""
