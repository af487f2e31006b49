"""Memory in a real game: the store on the disk, reloads, kills, nights, privacy."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.port import Item
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.lines import whisper_of
from tests.journeys.staging import prompt_of, quiet_log, run
from tests.memory.old_vectors import name_of, write

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log")

SECRET = "my sister Oda keeps the silver key under the third stair"
MARK = "silver key"
QUESTION = "where is that key of silver, and who has it?"
READ_SECONDS = 60.0
STORE = "server/ai_memory"


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return UNHURRIED


def wait_until_read(admin: Player) -> None:
    """Wait until the store has indexed or deleted all that it has to."""
    run(
        admin,
        "from evennia_ai.runtime import services\n"
        "from evennia_ai.memory import indexing\n"
        "from twisted.internet import reactor\n"
        "owner = me\n"
        "def look(left):\n"
        "    status = indexing.status(ada)\n"
        "    if status.waiting or status.removed:\n"
        "        indexing.soon(ada)\n"
        "        if left: reactor.callLater(0.2, look, left - 1)\n"
        "        else: owner.account.msg('still unread: %s' % services.memory().problem)\n"
        "    else: owner.account.msg('all is read')\n"
        "reactor.callLater(0.2, look, 250)",
    )
    assert "all is read" == admin.expect("all is read|still unread: .*", READ_SECONDS)[0]


def ask_anew(game: Game, admin: Player, player: Player, model: FakeModel) -> str:
    """The prompt for a question in a new conversation."""
    wait_until_read(admin)
    admin.ask("history reset ada", "new conversation|begins anew|forgotten|starts")
    player.ask(f"whisper ada = {QUESTION}", whisper_of(QUESTION), READ_SECONDS)
    return prompt_of(model.read_calls()[-1])


def test_what_was_whispered_is_remembered_for_its_speaker_alone(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """Over a reload and a kill Tom's secret is recalled for Tom, and never for Mira."""
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    tom.ask(f"whisper ada = {SECRET}", whisper_of(SECRET))
    assert MARK in ask_anew(game, admin, tom, model)
    assert MARK not in ask_anew(game, admin, mira, model)
    game.reload()
    game.wait_until_ready()
    assert MARK in ask_anew(game, admin, tom, model)
    game.crash()
    for player in (admin, tom, mira):
        player.come_back()
    assert MARK in ask_anew(game, admin, tom, model)
    assert MARK not in ask_anew(game, admin, mira, model)


def test_a_night_and_a_whisper_that_wakes_her(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    tom = enter("Tom")
    admin.ask("aimemory ada sleep", r"asleep|sleeps")
    admin.ask("assistant status ada", r"(?i)asleep")
    tom.ask("whisper ada = are you awake?", whisper_of("are you awake?"), READ_SECONDS)
    admin.ask("assistant status ada", r"(?i)awake")


def test_without_her_store_she_goes_on_talking(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """A store that cannot be opened is reported to staff; a lost one is rebuilt by itself."""
    enter("Tom").ask(f"whisper ada = {SECRET}", whisper_of(SECRET))
    wait_until_read(admin)
    game.stop()
    (game.folder / STORE).rename(game.folder / "server/put_aside")
    (game.folder / STORE).write_text("no folder")
    game.start()
    enter("Tom").ask(f"whisper ada = {QUESTION}", whisper_of(QUESTION), READ_SECONDS)
    with game.log_in_admin() as owner:
        owner.ask("aimemory ada", "ai_memory cannot be written")
    game.stop()
    (game.folder / STORE).unlink()
    game.start()
    with game.log_in_admin() as owner:
        assert MARK in ask_anew(game, owner, enter("Tom"), model)


def test_a_person_reads_and_forgets(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """A forgotten memory is in no prompt and in no file of the store."""
    tom = enter("Tom")
    tom.ask(f"whisper ada = {SECRET}", whisper_of(SECRET))
    tom.ask("assistant memory", rf"(?s)things? about you.*{MARK}")
    tom.ask("assistant forget everything ada", r"yes \| no")
    tom.ask("yes", r"(?i)forgotten|forgot")
    wait_until_read(admin)
    assert MARK not in ask_anew(game, admin, tom, model)
    game.stop()
    files = [path for path in (game.folder / STORE).rglob("*") if path.is_file()]
    assert files
    assert [] == [path for path in files if MARK.encode() in path.read_bytes()]
    game.start()


def test_an_owner_moves_the_vectors_of_before(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """The documented commands: a dry run, the move, and a second move without effect."""
    enter("Tom").ask(f"whisper ada = {SECRET}", whisper_of(SECRET))
    wait_until_read(admin)
    game.stop()
    with closing(sqlite3.connect(game.database)) as table:
        read = "FROM evennia_ai_memory WHERE indexed_as NOT IN ('', '-')"
        rows = table.execute(f"SELECT assistant, key, text, audience, trust {read}").fetchall()
        table.execute("DELETE FROM evennia_ai_memoryvector")
        table.execute("UPDATE evennia_ai_memory SET indexed_as = ?", [HashingEmbedder.signature])
        table.commit()
    write(game.folder / STORE, {name_of(rows[0][0]): [Item(*row[1:]) for row in rows]})
    count = len(rows)
    assert f"{count} vectors would be copied." in game.launch("ai_move_memories", "--dry-run")
    assert f"{count} vectors copied." in game.launch("ai_move_memories")
    assert f"{count} were in the database already." in game.launch("ai_move_memories")
    game.start()
