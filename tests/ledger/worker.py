"""A server process that uses the ledger, as a test tells it to.

Usage: python -m tests.ledger.worker migrate | spend OPTIONS | hold OPTIONS | look

It says `ready` once it has loaded everything, and begins when it is sent a line; what came of it is
one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys


def main(act: str, options: str = "{}") -> None:
    """Do one thing."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.ledger.settings"
    import django

    django.setup()
    from tests.ledger.acts import ACTS
    from tests.ledger.name_acts import named
    from tests.ledger.outage_acts import OUTAGE_ACTS

    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps({**ACTS, **OUTAGE_ACTS, "named": named}[act](json.loads(options))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
