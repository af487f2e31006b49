"""The embedded model: weights, supervisor, command line and the real model."""
