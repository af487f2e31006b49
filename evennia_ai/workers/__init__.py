"""Background work: done in the game's process, or by workers beside it."""
