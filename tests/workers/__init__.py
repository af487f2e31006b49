"""Tests of the work that workers do, and of games without workers."""
