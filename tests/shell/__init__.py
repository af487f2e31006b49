"""The shell: script, character, tools and commands, with real objects in a real database."""
