"""Tasks that are with others: delegations, and who waits for the report."""
