"""The life of one assistant beside its script: state, work in memory, turns, names and rights."""
