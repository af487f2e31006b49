"""The adapters to language models, without Evennia, against servers that can fail."""
