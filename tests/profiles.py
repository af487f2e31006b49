"""The profile that a run of the suite has: as usual, or thorough, as in `make proof`.

A module of its own, since processes without pytest and without Django ask for it too.
"""

from __future__ import annotations

import os

IS_THOROUGH = os.environ.get("EVENNIA_AI_TEST_PROFILE") == "thorough"
