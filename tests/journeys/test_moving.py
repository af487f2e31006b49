"""An assistant moves from one real game to another, where ids mean somebody else."""

import io
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.clients import Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.lines import whisper_of
from tests.journeys.staging import find_trouble, measure_log, prompt_of, read_new_log, run

SECRET = "my sister Oda keeps the silver key under the third stair"
MARK = "silver key"
QUESTION = "where is that key of silver, and who has it?"
SECONDS = 60.0


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return UNHURRIED


@pytest.fixture(scope="module")
def other(
    template: Path, model_server: FakeModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Game]:
    """Another game of the same kind, with players of its own."""
    with Game.copy(template, tmp_path_factory.mktemp("other") / "game") as game:
        game.ask_model_at(model_server.base_url, MODEL_NAME)
        game.settings |= UNHURRIED
        game.start()
        yield game


FILL = """
from evennia_ai.core.memory.recollection import Recollection, place_audience
from evennia_ai.memory_store import rows
rows.insert(ada.pk, [Recollection("%032x" % n, "fact", "year %d was dry" % n,
    place_audience("say", "#2"), place="#2", at=float(n)) for n in range({first}, {first} + 1_000)])
rows.of(ada.pk, indexed_as="").update(indexed_as="-")
"""


def until(is_so: Callable[[], bool]) -> None:
    """Poll until a condition holds.

    Raises:
        AssertionError: it does not hold in time.
    """
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def account(stack: ExitStack, game: Game, name: str) -> Player:
    player = stack.enter_context(game.open_telnet())
    player.create_account(name)
    player.log_in(name)
    return player


def read(admin: Player, name: str) -> None:
    """Wait until an assistant's memories all have vectors."""
    run(
        admin,
        "from evennia_ai import operations\n"
        "from evennia_ai.memory import indexing\n"
        "from twisted.internet import reactor\n"
        f"owner, script = me, operations.find_assistant({name!r})\n"
        "def look(left):\n"
        "    if indexing.status(script).waiting and left:\n"
        "        indexing.soon(script)\n"
        "        reactor.callLater(0.2, look, left - 1)\n"
        "    else: owner.account.msg('all is read' if left else 'still unread')\n"
        "reactor.callLater(0.2, look, 250)",
    )
    assert "all is read" == admin.expect("all is read|still unread", SECONDS)[0]


def told(admin: Player, player: Player, model: FakeModel, name: str) -> str:
    """The prompt for a player's question to an assistant with a new conversation."""
    read(admin, name)
    admin.ask(f"history reset {name}", "new conversation|begins anew|forgotten|starts")
    player.ask(f"whisper {name} = {QUESTION}", whisper_of(QUESTION, name.capitalize()), SECONDS)
    return prompt_of(model.read_calls()[-1])


def exported(game: Game, admin: Player, name: str) -> Path:
    admin.ask(f"assistant export {name} all", "and all it knows, including private words", SECONDS)
    paths = (game.folder / "server" / "ai_exports").glob(f"assistant-{name}*.zip")
    return max(paths, key=lambda path: path.stat().st_mtime)


def parts(path: Path) -> dict[str, bytes]:
    """The parts of a file, without times, versions and records."""
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        wanted = ("settings.json", "state.json", "who.jsonl", "memories.jsonl", "profiles.jsonl")
        return {name: archive.read(name) for name in wanted}


def test_there_and_back(game: Game, other: Game, admin: Player, model: FakeModel) -> None:
    """Tom's secret is recalled for Tom alone, in both games, whatever his id.

    In the other game Tom's number is Mira's, and the names of room and assistant are the same.
    """
    starts = measure_log(game), measure_log(other)
    with ExitStack() as stack:
        tom = account(stack, game, "Tom")
        tom.ask(f"whisper ada = {SECRET}", whisper_of(SECRET))
        assert MARK in told(admin, tom, model, "ada")
        file = exported(game, admin, "ada")
        assert b"silver key" in parts(file)["memories.jsonl"]

        mira, thomas = (account(stack, other, name) for name in ("Mira", "Thomas"))
        owner = stack.enter_context(other.log_in_admin())
        folder = other.folder / "server" / "ai_imports"
        folder.mkdir(exist_ok=True)
        shutil.copy(file, folder / "ada.zip")
        owner.ask("assistant import ada.zip", "cannot be imported", SECONDS)
        owner.ask("assistant import ada.zip as Edda where Tom is Thomas", "Store it?", SECONDS)
        owner.ask("yes", "Edda is here, and silent", SECONDS)
        owner.ask("assistant start edda", "Edda", SECONDS)
        assert MARK in told(owner, thomas, model, "edda")
        assert MARK not in told(owner, mira, model, "edda")
        assert MARK not in told(owner, owner, model, "edda")

        again = exported(other, owner, "edda")
        assert b"silver key" in parts(again)["memories.jsonl"]
    assert [] == find_trouble(read_new_log(game, starts[0]))
    assert [] == find_trouble(read_new_log(other, starts[1]))


def test_a_reload_in_the_middle(game: Game, admin: Player) -> None:
    """A reload in the middle of an import leaves no part of it; the next try is complete."""
    counts = ("evennia_ai_memory", "evennia_ai_entityprofile", "scripts_scriptdb")

    def rows() -> list[Any]:
        return [game.query(f"SELECT COUNT(*) FROM {table}")[0][0] for table in counts]

    for first in range(0, 15_000, 1_000):
        run(admin, FILL.format(first=first))
    file = exported(game, admin, "ada")
    folder = game.folder / "server" / "ai_imports"
    folder.mkdir(exist_ok=True)
    shutil.copy(file, folder / "many.zip")

    def ask_whether() -> None:
        asked = r"Store it\?|Is that the same person"
        if "same" in admin.ask("assistant import many.zip as Mona", asked, SECONDS)[0]:
            admin.ask("no", r"Store it\?", SECONDS)

    before, start = rows(), measure_log(game)
    ask_whether()
    admin.send("yes")
    until(lambda: rows()[0] > before[0] + 100)
    admin.ask("reload", "restart", SECONDS)
    until(lambda: rows() == before)
    ask_whether()
    admin.ask("yes", "Mona is here, and silent", 2 * SECONDS)
    assert 3_000 <= rows()[0] - before[0]
    assert not game.query("SELECT 1 FROM server_serverconfig WHERE db_key = 'evennia_ai_arriving'")
    assert [] == find_trouble(read_new_log(game, start))
