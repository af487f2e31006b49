"""Stage of the soak: a reactor moved by hand, a game with an empty database, and its people."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

NOON = 1_795_262_430.0
PLAYERS = ("Tom", "Mira", "Jon", "Lea")
ASSISTANTS = ("Ada", "Brass", "Cole", "Dora")
# Low enough to be reached within the simulated night.
CAPS = {
    "game": {"tokens_per_day": 1_500_000, "calls_per_minute": 25},
    "assistant": {"tokens_per_day": 400_000, "calls_per_minute": 9},
    "player": {"tokens_per_day": 300_000},
}


def install_reactor() -> Any:
    """Install a reactor whose time is moved by hand, for the whole process."""
    from twisted.internet.main import installReactor
    from twisted.internet.testing import MemoryReactorClock
    from twisted.logger import globalLogBeginner

    class HandMovedReactor(MemoryReactorClock):  # type: ignore[misc]
        """A reactor that runs in this thread only."""

        def callFromThread(self, function: Any, *arguments: Any, **more: Any) -> None:  # noqa: N802
            """Run a function when time is next moved."""
            self.callLater(0, function, *arguments, **more)

    # The memory reactor would keep bytes that nobody reads.
    globalLogBeginner.beginLoggingTo([], discardBuffer=True, redirectStandardIO=False)
    reactor = HandMovedReactor()
    reactor.rightNow = NOON
    installReactor(reactor)
    return reactor


def set_up_game(folder: Path) -> None:
    """Set up Django and Evennia with an empty database in a file."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "server.conf.settings",
        "EVENNIA_AI_MODEL": "scripted",
    }
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = str(folder / "soak.db3")
    settings.LOG_DIR = str(folder)
    settings.EVENNIA_AI_TOOL_MODULES = ["tests.game.walks.tools"]
    settings.EVENNIA_AI_BUDGET_CONFIG = CAPS
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    import django

    django.setup()
    import evennia

    evennia._init()
    from django.core.management import call_command
    from django.db import connection
    from evennia.utils.create import create_object

    from server.play import template

    if not template.is_applied(settings.DATABASES["default"]):
        call_command("migrate", verbosity=0)
    for pragma in settings.SQLITE3_PRAGMAS:
        connection.cursor().execute(pragma)
    limbo = create_object("evennia.objects.objects.DefaultRoom", key="Limbo", nohome=True)
    settings.DEFAULT_HOME = f"#{limbo.id}"


def make_world(reactor: Any) -> Any:
    """Make the room and its people. Tom is online and may control the assistants."""
    import evennia
    from evennia.server.serversession import ServerSession
    from evennia.utils.create import create_account, create_object

    from evennia_ai.operations import create_assistant
    from tests.game.walks.accounts import Listener
    from tests.game.walks.world import World

    handler = evennia.SESSION_HANDLER
    handler.data_out = lambda *arguments, **more: None
    room = create_object("evennia.objects.objects.DefaultRoom", "Library", nohome=True)
    people = [create_object(Listener, name, room, home=room) for name in PLAYERS]
    account = create_account("Tom", "", "password-of-a-test")
    account.permissions.add("Developer")
    session = ServerSession()
    session.init_session("telnet", ("localhost", "soak"), handler)
    session.sessid = 1
    handler.portal_connect(session.get_sync_data())
    handler.login(handler.session_from_sessid(1), account, testmode=True)
    account.puppet_object(handler.session_from_sessid(1), people[0])
    scripts = [
        create_assistant(name, location=room, persona="A librarian.").data.script
        for name in ASSISTANTS
    ]
    for script in scripts[1:]:
        script.tags.add("specialist")
    return World(scripts, people, reactor, lambda: reactor.advance(0), has_reactor=True)
