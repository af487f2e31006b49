"""Models and what they are told: the choice of one, its endpoints, prompts and texts."""
