"""Measurements: each module prints ratios against a peer of the same run."""
