"""Character cards and lore packs: file formats shared with other programs."""
