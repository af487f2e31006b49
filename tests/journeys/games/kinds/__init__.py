"""Games of the matrix, one file for each or for a few that differ in one setting."""
