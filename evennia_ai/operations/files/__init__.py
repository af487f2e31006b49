"""Files that come in and go out: exports, imports, character cards and lore packs."""
