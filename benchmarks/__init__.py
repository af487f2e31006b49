"""Benchmarks: each module prints ratios against a peer measured in the same run."""
