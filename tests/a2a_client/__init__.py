"""The A2A client: cards, messages, connections."""
