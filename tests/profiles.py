"""The profile of a test run: usual, or thorough, as in `make proof`.

A separate module, since processes without pytest and without Django need it too.
"""

import os

IS_THOROUGH = os.environ.get("EVENNIA_AI_TEST_PROFILE") == "thorough"
