"""How many of forty newcomers' questions the demo brain answers sensibly, in a real game."""
