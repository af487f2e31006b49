"""Prepare the game's database: tables, owner, first objects and world.

`game` runs it as `python -m server.play.database` in the game's environment, while no server runs.
Each step first checks what exists, so it is safe to run again, also after a kill.

Evennia makes its first objects when its server first starts, and then restarts it once. They are
made here instead, because the world needs them and the first start then takes no longer than any
other.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from server.play import credentials, database_url
from server.play.layout import Checkout

RESULT_MARK = "result: "
TROUBLE_MARK = "database: "
PRIVATE = 0o600
ASSISTANTS_ERRORS = "evennia_ai.E"


def main(root: Path) -> None:
    """Bring a checkout's database up to date and print its content as one line of JSON."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.conf.settings")
    import django
    from django.conf import settings
    from django.core.checks import run_checks
    from django.core.management import call_command

    from server.play import template

    django.setup()
    if trouble := database_url.problem_with(settings.DATABASES["default"]):
        sys.exit(f"{TROUBLE_MARK}{trouble}")
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        keep_private(str(settings.DATABASES["default"]["NAME"]))
    if not template.is_applied(settings.DATABASES["default"]):
        call_command("migrate", interactive=False, verbosity=0)

    import evennia

    evennia._init()
    username, is_new = ensure_superuser(root)
    ensure_first_objects()

    from world.build import build_world

    summary = build_world()
    call_command("collectstatic", interactive=False, verbosity=0)
    database = settings.DATABASES["default"]
    wrong = [found.msg for found in run_checks() if f"{found.id}".startswith(ASSISTANTS_ERRORS)]
    told = {
        "admin": username,
        "is_new": is_new,
        "summary": summary,
        "openings": openings_in_force(),
        **evennias_commands(root),
        "database": str(database["NAME"]) if database["ENGINE"].endswith("sqlite3") else "",
        "static": str(settings.STATIC_ROOT),
        "wrong_settings": " ".join(wrong),
    }
    # Marked, since migrations and the game's own code may print lines, too.
    print(RESULT_MARK + json.dumps(told))


def keep_private(name: str) -> None:
    """Make the database file, which holds password hashes, readable for its owner only.

    A missing file is created empty with these rights; SQLite gives its side files the same.

    Args:
        name: path of the file.
    """
    os.close(os.open(name, os.O_RDWR | os.O_CREAT, PRIVATE))
    for path in (Path(f"{name}{suffix}") for suffix in ("", "-wal", "-shm")):
        if path.exists():
            path.chmod(PRIVATE)


def ensure_superuser(root: Path) -> tuple[str, bool]:
    """Create the account that owns the game, unless there is one.

    Returns:
        Its name, and whether it was just created.
    """
    from evennia.accounts.models import AccountDB

    # Evennia treats account 1 as the owner.
    owner = AccountDB.objects.filter(id=1).first()
    if owner is not None:
        return str(owner.username), False
    wanted = credentials.admin(Checkout(root))
    AccountDB.objects.create_superuser(wanted.username, wanted.email or None, wanted.password)
    return wanted.username, True


def openings_in_force() -> dict[str, object]:
    """Return the ports and the address in the final settings, which the owner may have changed."""
    from django.conf import settings

    web, web_inner = settings.WEBSERVER_PORTS[0]
    numbers = {
        "TELNET_PORT": settings.TELNET_PORTS[0],
        "WEB_PORT": web,
        "WEBSOCKET_PORT": settings.WEBSOCKET_CLIENT_PORT,
        "WEB_INNER_PORT": web_inner,
        "AMP_PORT": settings.AMP_PORT,
    }
    return {**numbers, "BIND": settings.TELNET_INTERFACES[0]}


def evennias_commands(root: Path) -> dict[str, list[str]]:
    """Return the command lines with which Evennia's launcher starts portal and server."""
    from evennia.server import evennia_launcher

    evennia_launcher.set_gamedir(str(root))
    evennia_launcher.init_game_directory(str(root), check_db=False)
    portal, server = evennia_launcher._get_twistd_cmdline(False, False)
    return {"portal_command": portal, "server_command": server}


def ensure_first_objects() -> None:
    """Make the owner's character and the first room, as Evennia's own first start would."""
    from django.db import transaction
    from evennia.server import initial_setup
    from evennia.server.models import ServerConfig

    if ServerConfig.objects.conf("last_initial_setup_step") == "done":
        return
    with transaction.atomic():
        initial_setup.create_objects()
        initial_setup.at_initial_setup()
        ServerConfig.objects.conf("server_epoch", time.time())
        ServerConfig.objects.conf("last_initial_setup_step", "done")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd())
    # The memory's thread may be inside native code, and a normal exit of Python would then abort.
    # Everything is committed by now; the server indexes the rest.
    sys.stdout.flush()
    os._exit(0)
