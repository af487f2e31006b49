"""A server process that uses the ledger as a test tells it; a fork of what `load` loaded.

Its act (`migrate`, `spend`, `hold`, `look` and more) has options. It prints `ready` once it has the
database that the environment names, begins at a line on stdin, and prints its result as one line of
JSON.
"""

import json
import os
import sys
from importlib import import_module, reload

ACTS = ("tests.ledger.acts", "tests.ledger.name_acts", "tests.ledger.outage_acts")


def load() -> None:
    """Load all that processes share before they are forked, with an unused database."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.ledger.settings"
    import django

    django.setup()
    for name in ACTS:
        import_module(name)


def take_settings() -> None:
    """Apply the settings of the environment, as a new server process would."""
    from django.conf import settings
    from django.db import connections

    from evennia_ai.budget.ledger import place
    from tests.ledger import settings as own

    reload(own)
    settings.DATABASES = own.DATABASES
    settings.EVENNIA_AI_LEDGER_CONFIG = getattr(own, "EVENNIA_AI_LEDGER_CONFIG", {})
    del connections["default"]
    connections._settings = None
    del connections.settings
    place.clear_cache()
    place.install()


def main(act: str, options: str = "{}") -> None:
    take_settings()
    from tests.ledger.acts import ACTS
    from tests.ledger.name_acts import named
    from tests.ledger.outage_acts import OUTAGE_ACTS

    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps({**ACTS, **OUTAGE_ACTS, "named": named}[act](json.loads(options))), flush=True)
