"""Language models: the choice of one, its endpoints, and the prompts and texts it is given."""
