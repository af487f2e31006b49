"""The REST API: who may do what, how it goes wrong, and how it gets into the game's thread."""
