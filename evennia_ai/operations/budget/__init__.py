"""Model calls, tokens and money: caps and what is left of them, and spending by day."""
