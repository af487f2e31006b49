"""Settings of the demo game, the same file on every Evennia we support.

The game has no `typeclasses`, `commands` or `web` folder: everything outside `world` and
`evennia_ai` is Evennia's own. Put your settings into `secret_settings.py` next to this file; git
ignores it.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from django.db import connections
from evennia.settings_default import *  # noqa: F403
from evennia.settings_default import (
    DATABASES,
    FUNCPARSER_OUTGOING_MESSAGES_MODULES,
    GAME_DIR,
    INPUT_FUNC_MODULES,
    INSTALLED_APPS,
    LOCK_FUNC_MODULES,
    SQLITE3_PRAGMAS,
    TYPECLASS_PATHS,
)

from server.conf import swift  # noqa: F401  before Evennia imports inflect
from server.play import database_url, ports

SERVERNAME = "The Lantern Library"
GAME_SLOGAN = "An old lighthouse full of books, and someone who knows them"

# By default only this machine can connect; EVENNIA_AI_BIND=0.0.0.0 opens the game to all.
_OPENINGS = ports.for_settings(Path(GAME_DIR) / "server")
TELNET_PORTS = [_OPENINGS.telnet]
WEBSERVER_PORTS = [(_OPENINGS.web, _OPENINGS.numbers["WEB_INNER_PORT"])]
WEBSOCKET_CLIENT_PORT = _OPENINGS.numbers["WEBSOCKET_PORT"]
AMP_PORT = _OPENINGS.numbers["AMP_PORT"]
TELNET_INTERFACES = [_OPENINGS.address]
WEBSERVER_INTERFACES = [_OPENINGS.address]
WEBSOCKET_CLIENT_INTERFACE = _OPENINGS.address

# The game's apps, command sets and typeclasses.
INSTALLED_APPS += ("evennia_ai", "rest_framework.authtoken")
ROOT_URLCONF = "server.conf.urls"
CMDSET_UNLOGGEDIN = "evennia.commands.default.cmdset_unloggedin.UnloggedinCmdSet"
CMDSET_SESSION = "evennia.commands.default.cmdset_session.SessionCmdSet"
CMDSET_ACCOUNT = "world.commands.AccountCmdSet"
CMDSET_CHARACTER = "world.commands.CharacterCmdSet"
BASE_ACCOUNT_TYPECLASS = "evennia.accounts.accounts.DefaultAccount"
BASE_GUEST_TYPECLASS = "evennia.accounts.accounts.DefaultGuest"
BASE_OBJECT_TYPECLASS = "evennia.objects.objects.DefaultObject"
BASE_CHARACTER_TYPECLASS = "world.characters.Character"
BASE_ROOM_TYPECLASS = "world.rooms.Room"
BASE_EXIT_TYPECLASS = "evennia.objects.objects.DefaultExit"
BASE_CHANNEL_TYPECLASS = "evennia.comms.comms.DefaultChannel"
BASE_SCRIPT_TYPECLASS = "evennia.scripts.scripts.DefaultScript"
TYPECLASS_PATHS = [
    "world",
    "evennia_ai",
    *(path for path in TYPECLASS_PATHS if path != "typeclasses"),
]
CONNECTION_SCREEN_MODULE = "world.connection_screens"
FILE_HELP_ENTRY_MODULES = ["world.help_entries"]

# `evennia --init` makes modules for these hooks; this game has none.
AT_INITIAL_SETUP_HOOK_MODULE = None
AT_SERVER_STARTSTOP_MODULE = []
MSSP_META_MODULE = None
PORTAL_SERVICES_PLUGIN_MODULES = []
PROTOTYPE_MODULES = []
SERVER_SERVICES_PLUGIN_MODULES = []
STATICFILES_DIRS = []
WEB_PLUGINS_MODULE = None


def _without_absent(modules):
    return [name for name in modules if not name.startswith("server.conf.")]


FUNCPARSER_OUTGOING_MESSAGES_MODULES = _without_absent(FUNCPARSER_OUTGOING_MESSAGES_MODULES)
FUNCPARSER_PROTOTYPE_PARSING_MODULES = ["evennia.prototypes.protfuncs"]
INPUT_FUNC_MODULES = _without_absent(INPUT_FUNC_MODULES)
LOCK_FUNC_MODULES = _without_absent(LOCK_FUNC_MODULES)

# Evennia's default survives a killed process but not a power cut. WAL with NORMAL survives both,
# and is faster. OPTIONS apply to every connection, also of web threads; SQLITE3_PRAGMAS only to
# the server's own.
DATABASES["default"]["OPTIONS"] = {
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    "timeout": 20,
    # Otherwise SQLite refuses a transaction that reads first and writes later, instead of waiting.
    "transaction_mode": "IMMEDIATE",
}
SQLITE3_PRAGMAS = (
    *(pragma for pragma in SQLITE3_PRAGMAS if "synchronous" not in pragma),
    "PRAGMA synchronous=NORMAL",
)

# `make play DATABASE_URL=postgresql://...` stores the address of another database.
DATABASES["default"] = database_url.for_settings(Path(GAME_DIR) / "server") or DATABASES["default"]

# Portal and server fork into the background after they have read the database, and SQLite's locks
# do not survive a fork: another program would consider the file unused and delete its WAL while the
# server still writes to it.
os.register_at_fork(before=connections.close_all)

# `make play` stores a key for this game; without it, web logins end with the next restart.
SECRET_KEY = secrets.token_urlsafe(48)
with suppress(OSError):
    SECRET_KEY = (Path(GAME_DIR) / "server" / ".secret_key").read_text().strip() or SECRET_KEY

if (Path(__file__).parent / "secret_settings.py").exists():
    from server.conf.secret_settings import *  # noqa: F403
