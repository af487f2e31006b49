"""Tests of the loop and the tick, driven by hand."""
