"""Newcomers' questions to the demo brain, in a real game, and how many answers are sensible."""
