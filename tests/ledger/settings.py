"""The demo game's settings, on the database that a test names."""

import json
import os

from server.conf.settings import *  # noqa: F403
from server.conf.settings import DATABASES

# Nine threads write one file, and SQLite does not grant locks in order.
DATABASES["default"]["OPTIONS"]["timeout"] = 60
# The default is for the process that loads everything before a test names a database.
DATABASES["default"] |= json.loads(os.environ.get("LEDGER_TEST_DATABASE", '{"NAME": ":memory:"}'))
# A ledger in another database, shared by several games.
if "LEDGER_TEST_SHARED" in os.environ:
    DATABASES["ledger"] = json.loads(os.environ["LEDGER_TEST_SHARED"])
    EVENNIA_AI_LEDGER_CONFIG = json.loads(os.environ["LEDGER_TEST_CONFIG"])
