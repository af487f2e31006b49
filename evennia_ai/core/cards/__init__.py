"""Character cards and lore packs: what people carry from one program to another."""
