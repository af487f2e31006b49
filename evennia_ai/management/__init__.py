"""Management commands that this Django app adds to Evennia's launcher."""
