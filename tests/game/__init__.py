"""The rooms of the package in a game: real objects in a real database, and a scripted model."""
