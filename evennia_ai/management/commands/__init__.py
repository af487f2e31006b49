"""What the Django app adds to the game's launcher."""
