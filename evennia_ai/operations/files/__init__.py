"""Files that are exported and imported: conversations, audit logs, character cards, lore packs."""
