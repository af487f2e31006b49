"""The matrix of real games: rows are the files in `kinds`, columns the steps of `steps`.

To add a game, write one file in `kinds` with `KINDS = (Kind(...),)`. Then, on a Python for each
Evennia, `EVENNIA_AI_WRITE_TABLES=1 EVENNIA_AI_TEST_PROFILE=thorough pytest tests/journeys/games`
plays the matrix and writes down the outcomes, and `make docs` renews docs/games.md.
"""

import pytest

# Failed assertions in these modules show their values.
pytest.register_assert_rewrite(f"{__name__}.steps", f"{__name__}.visit", f"{__name__}.kinds")
