"""Management commands, which Django finds by their file names: `evennia ai_worker` and others."""
