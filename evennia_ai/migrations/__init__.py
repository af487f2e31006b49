"""The history of the package's tables."""
