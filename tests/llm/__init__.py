"""The adapters to language models, without Evennia, against a real server that misbehaves."""
