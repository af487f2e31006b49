"""A game whose database an older version of the package made.

`games/older.sql` is the database of the Lantern Library as the code of 24 November 2026 left it
(commit ea80e09, Evennia 5.0.1): Tom told Ada of his boat, Ada has a goal, a setting of its own and
an open question to staff, Brass is stopped, and there is a line of lore. On PostgreSQL it is the
same game, moved by `evennia ai_move_database`.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import pytest

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.clients import Player
from tests.journeys.game import Game
from tests.journeys.games.kinds import databases
from tests.journeys.lines import whisper_of
from tests.journeys.mcp_client import Staff, port
from tests.journeys.staging import find_trouble, prompt_of, read_new_log
from tests.journeys.web import Web

__all__ = ("port",)

# A token of the owner's, as the code of that day made them.
TOKEN = "eai_3b7e151628aed2a6abf7158809cf4f3c-of-november"
OLDER = Path(__file__).with_name("games") / "older.sql"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def game(
    request: pytest.FixtureRequest,
    template: Path,
    model_server: FakeModel,
    tmp_path_factory: pytest.TempPathFactory,
    port: int,
) -> Iterator[Game]:
    """The older game under today's code, after the `migrate` that its owner is told to run."""
    model_server.reset()
    with (
        Game.copy(template, tmp_path_factory.mktemp("older") / "game") as game,
        ExitStack() as stack,
    ):
        game.database.unlink()
        with sqlite3.connect(game.database) as connection:
            connection.executescript(OLDER.read_text(encoding="utf-8"))
            _give_token(connection)
        connection.close()
        game.settings["EVENNIA_AI_MCP_SERVER_CONFIG"] = {"port": port}
        game.ask_model_at(model_server.base_url, MODEL_NAME)
        game.write_settings()
        game.launch("migrate")
        if request.param == "postgresql":
            move(game, stack)
        game.start()
        yield game


def move(game: Game, stack: ExitStack) -> None:
    """Move the game as docs/scale.md says, and try what it warns of."""
    with pytest.raises(AssertionError, match="is not PostgreSQL: set it first"):
        game.launch("ai_move_database", str(game.database))
    file = str(game.database.rename(game.database.with_name("old.db3")))
    databases.found(game, stack)
    game.write_settings()
    with pytest.raises(AssertionError, match="run `evennia migrate` on both databases"):
        game.launch("ai_move_database", file)
    game.launch("migrate")
    with pytest.raises(AssertionError, match="there is no file"):
        game.launch("ai_move_database", f"{file}.gone")
    assert "The file is as it was" in game.launch("ai_move_database", file)
    with pytest.raises(AssertionError, match="the new database is in use"):
        game.launch("ai_move_database", file)


def _give_token(connection: sqlite3.Connection) -> None:
    ((password,),) = connection.execute("SELECT password FROM accounts_accountdb WHERE id = 1")
    mark = sha256(f"evennia_ai.token {password}".encode()).hexdigest()
    at = int(time.time())
    connection.execute(
        "INSERT INTO evennia_ai_accesstoken (account_id, name, begins, digest, password, place,"
        " made_at, ends_at, used_at) VALUES (1, 'backup', ?, ?, ?, '', ?, ?, 0)",
        (TOKEN[:8], sha256(TOKEN.encode()).hexdigest(), mark, at, at + 86_400),
    )


def test_all_of_an_older_game_is_there(game: Game, admin: Player, model: FakeModel) -> None:
    admin.ask("assistant questions", "1 +Ada asks about a limit")
    admin.ask("assistant answer 1 no", "Ada")
    admin.ask("assistant status brass", "stopped by admin")
    admin.ask("assistant emergency clear brass", "Brass is free again|Brass")
    admin.ask("aigoal ada", r"Find the lost atlas\.")
    admin.ask("assistant config ada show recall_limit", "7")
    admin.ask("aimemory lore", "Boats rest below the north stair")
    admin.ask("aiaudit brass", "stop")
    with game.open_telnet() as tom:
        tom.log_in("Tom")
        tom.ask("whisper ada = what is my boat called?", whisper_of("what is my boat called?"))
        tom.ask("assistant memory", "Plover")
    assert "Plover" in prompt_of(model.read_calls()[-1])
    admin.ask("assistant create Edda = Edda is new.", "Edda is awake")
    assert [] == find_trouble(read_new_log(game, 0))


def test_an_older_token_does_what_it_did_and_only_reads_over_mcp(game: Game, port: int) -> None:
    """By REST it may still write; over MCP nobody has granted it more than reading."""
    web, staff = Web(game.ports.web, TOKEN), Staff(port, TOKEN)
    web.get_done("POST", "assistants/Ada/stop/")
    assert not staff.told("assistant_status", assistant="Ada")["enabled"]
    assert "read-only" in staff.fault("start_assistant", assistant="Ada")
    web.get_done("POST", "assistants/Ada/start/")
    (row,) = web.read("tokens/")["tokens"]
    assert ("backup", "usual") == (row["name"], row["scope"])
