"""Tests of the values and rules."""
