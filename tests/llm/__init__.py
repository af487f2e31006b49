"""The adapters to language models, without Evennia: values, rules, and a real HTTP server that misbehaves."""
