"""Django and Evennia with an empty database and a memory store, in a folder of their own."""

import os
from pathlib import Path

NO_CAP = {"tokens_per_day": 0, "calls_per_minute": 0}
NO_CAPS = {"game": NO_CAP, "assistant": NO_CAP, "player": NO_CAP}


def boot(folder: Path, *, embeddings: str, store: str = "embedded") -> None:
    """Set up Django and Evennia with a database and a memory store in a folder."""
    os.environ |= {"DJANGO_SETTINGS_MODULE": "server.conf.settings"}
    os.environ |= {"EVENNIA_AI_MODEL": "scripted", "MEM0_DIR": str(folder / "mem0")}
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = str(folder / "week.db3")
    settings.LOG_DIR = settings.GAME_DIR = str(folder)
    settings.EVENNIA_AI_MEMORY_STORE = store
    settings.EVENNIA_AI_EMBEDDINGS = embeddings
    settings.EVENNIA_AI_BUDGET_CONFIG = NO_CAPS
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    (folder / "server").mkdir(exist_ok=True)
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from server.play import template

    if not template.is_applied(settings.DATABASES["default"]):
        call_command("migrate", verbosity=0)
    for pragma in settings.SQLITE3_PRAGMAS:
        connection.cursor().execute(pragma)
    import evennia

    evennia._init()
