"""External agents: peers that give tasks over A2A, and specialists that are given some."""
