"""The demo game's settings on the database that a test names."""

import json
import os

from server.conf.settings import *  # noqa: F403
from server.conf.settings import DATABASES

# Nine threads want one file at once, and SQLite promises none of them a turn.
DATABASES["default"]["OPTIONS"]["timeout"] = 60
# Without a name these are the settings of what is loaded before a test names one.
DATABASES["default"] |= json.loads(os.environ.get("LEDGER_TEST_DATABASE", '{"NAME": ":memory:"}'))
# A ledger in another database, which several games share, and what else a game sets.
if "LEDGER_TEST_SHARED" in os.environ:
    DATABASES["ledger"] = json.loads(os.environ["LEDGER_TEST_SHARED"])
    EVENNIA_AI_LEDGER_CONFIG = json.loads(os.environ["LEDGER_TEST_CONFIG"])
