"""Commands that the Django app adds to the game's launcher."""
