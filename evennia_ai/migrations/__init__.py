"""How the tables of the package came to be."""
