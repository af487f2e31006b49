"""Work that nobody waits for: done in the game's process, or by workers beside it."""
