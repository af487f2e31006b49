"""Money and time of model calls: the ledger, and the client that reserves before it asks."""
