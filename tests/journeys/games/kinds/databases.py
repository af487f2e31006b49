"""A game on PostgreSQL."""

from contextlib import ExitStack
from urllib.parse import parse_qs, urlsplit

from tests.journeys.game import Game
from tests.journeys.games.visit import Kind, Visit
from tests.journeys.staging import run
from tests.postgres import named_server, new_database, running_server

KEPT = """
from django.db import connection
from evennia_ai.models import ModelCall
told = connection.vendor, ModelCall.objects.exists()
"""


def found(game: Game, stack: ExitStack) -> None:
    """Use a new database on the server that the environment names, or on one of its own."""
    server = named_server()
    if not server:
        address = urlsplit(stack.enter_context(running_server(game.root.with_name("postgres"))))
        places = parse_qs(address.query).get("host") or [address.hostname or ""]
        server = {"HOST": places[0], "PORT": address.port or "", "USER": address.username or ""}
    database = stack.enter_context(new_database(server))
    stack.callback(game.clean_up)  # before its database is dropped
    game.settings["DATABASES"] = {"default": database}
    (game.folder / "server/evennia.db3").unlink(missing_ok=True)


def kept(visit: Visit) -> str:
    """The costs of its calls are in that database, and no SQLite file is beside it."""
    assert "('postgresql', True)" == run(visit.owner, KEPT)
    assert not visit.game.database.exists()
    return "its tables are in that database"


# No `look`: PostgreSQL returns rows in another order after each start, and Evennia keeps it.
KINDS = (Kind("postgresql", "PostgreSQL", probes=("history", "assistant"), found=found, own=kept),)
