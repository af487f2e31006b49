"""The game's settings, for prompts with a game's own macros."""

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)
