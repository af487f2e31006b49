"""The game's settings, for prompts with a game's own macros."""

from __future__ import annotations

import tests.evennia_setup  # noqa: F401  (before any test module imports Evennia)
