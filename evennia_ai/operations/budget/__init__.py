"""Model calls, tokens and money: what is left of the caps, and what was spent by day."""
