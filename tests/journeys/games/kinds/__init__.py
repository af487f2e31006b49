"""Games of the matrix, a file for each or for a few that differ in one setting."""
