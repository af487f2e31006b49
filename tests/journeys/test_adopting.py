"""A guard of EvAdventure is adopted, talks, is killed in combat and revived, and is released."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import ROOT, UNHURRIED, Game
from tests.journeys.lines import whisper_of
from tests.journeys.readme import edit_file, read_steps
from tests.journeys.staging import find_trouble, measure_log, read_new_log, run

GUARDS = '''
from evennia.contrib.tutorials.evadventure.npcs import EvAdventureNPC


class Guard(EvAdventureNPC):
    """A guard; whoever is dead does not talk."""

    def can_act(self):
        return self.hp > 0 or "{name} lies dead on the ground."
'''
DEAD = "Bram lies dead on the ground."
EVADVENTURE = "evennia.contrib.tutorials.evadventure"
SCENE = f"""
barracks = create_object("{EVADVENTURE}.rooms.EvAdventureRoom", key="Barracks")
barracks.allow_combat = True
bram = create_object("world.guards.Guard", key="Bram", aliases=["captain"], location=barracks)
bram.armor = -30
bram.db.desc = "A broad man."
bram.tags.add("watch", category="guild")
bram.locks.add("get:false();control:perm(Admin)")
bram.cmdset.add("{EVADVENTURE}.combat_twitch.TwitchLookCmdSet", persistent=True)
bram.scripts.add("evennia.scripts.scripts.DefaultScript", key="patrol")
tom = search_object("Tom")[0]
tom.swap_typeclass("{EVADVENTURE}.characters.EvAdventureCharacter", run_start_hooks=None)
tom.cmdset.add("{EVADVENTURE}.combat_twitch.TwitchCombatCmdSet", persistent=True)
for being in (tom, me):
    being.move_to(barracks, quiet=True)
told = bram.id
"""
CHANGED = ("server/conf/settings.py", "commands/default_cmdsets.py")
CLEAN = (
    "from evennia.scripts.models import ScriptDB; "
    "ScriptDB.objects.filter(db_typeclass_path__startswith='evennia_ai.').delete()"
)
BRAM = "bram = search_object('Bram')[0]\n"


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return UNHURRIED


def rows_of(game: Game, number: int) -> dict[str, list[Any]]:
    """All rows of an object: its own, tags, attributes and scripts."""
    attributes = (
        "SELECT a.db_key, a.db_category, a.db_value, a.db_strvalue, a.db_lock_storage "
        "FROM typeclasses_attribute a JOIN objects_objectdb_db_attributes l "
        f"ON a.id = l.attribute_id WHERE l.objectdb_id = {number} ORDER BY a.db_key"
    )
    tags = (
        "SELECT t.db_key, t.db_category, t.db_tagtype FROM typeclasses_tag t "
        "JOIN objects_objectdb_db_tags l ON t.id = l.tag_id "
        f"WHERE l.objectdb_id = {number} ORDER BY t.db_key"
    )
    # The fight's script is the game's own.
    scripts = (
        f"SELECT db_key FROM scripts_scriptdb WHERE db_obj_id = {number} "
        "AND db_key != 'combathandler'"
    )
    return {
        "row": game.query(f"SELECT * FROM objects_objectdb WHERE id = {number}"),
        "attributes": game.query(attributes),
        "tags": game.query(tags),
        "scripts": game.query(scripts),
    }


def test_a_guard_is_adopted_and_let_go(game: Game, enter: Enter, model: FakeModel) -> None:
    """Adopted, he stays what he was; dead, he is silent; released, his rows are as before."""
    start = measure_log(game)
    (game.folder / "world/guards.py").write_text(GUARDS)
    tom = enter("Tom")
    with game.log_in_admin() as admin:
        number = int(run(admin, SCENE))
        before = rows_of(game, number)
        admin.ask("assistant adopt bram", "Bram has a mind now")
        tom.ask("whisper bram = hello", whisper_of("hello", "Bram"))
        tom.ask("say captain, hello", r'Bram says, "I heard: captain, hello"')
        assert before["row"] == rows_of(game, number)["row"]
    game.reload()
    tom.ask("whisper bram = are you back?", whisper_of("are you back?", "Bram"), 60)
    with game.log_in_admin() as admin:
        is_his_own(admin)
        fight(tom, admin, model)
        admin.ask("assistant release bram", "Release Bram?")
        admin.ask("yes", "Bram is released: Bram is as it was before")
    game.restart()
    assert before == rows_of(game, number)
    with game.log_in_admin() as admin:
        answer = run(admin, f"{BRAM}told = type(bram).__module__, bram.hp, find_assistant('bram')")
        assert "('world.guards', 4, None)" == answer
    assert [] == find_trouble(read_new_log(game, start))


def test_without_the_app_he_is_what_he_was(stock: Path, tmp_path: Path, model: FakeModel) -> None:
    """Without the app an adopted guard stays, and the log says what is left to do."""
    with Game.copy(stock, tmp_path / "theirs") as game:
        game.ask_model_at(model.base_url, MODEL_NAME)
        (game.folder / "world/guards.py").write_text(GUARDS)
        files = [game.folder / name for name in CHANGED]
        texts = {path: path.read_text() for path in files}
        for step in read_steps((ROOT / "README.md").read_text()):
            if step.kind == "python":
                edit_file(game.folder / step.file, step.lines)
        game.launch("migrate")
        game.start(by_launcher=True)
        with game.log_in_admin() as admin:
            admin.ask("create/drop Bram:world.guards.Guard", "You create a new Guard: Bram")
            number = int(game.query("SELECT id FROM objects_objectdb WHERE db_key = 'Bram'")[0][0])
            before = rows_of(game, number)
            admin.ask("assistant adopt bram", "Bram has a mind now")
            admin.ask("whisper bram = hello", whisper_of("hello", "Bram"))
        game.stop()
        for path, text in texts.items():
            path.write_text(text)
        start = measure_log(game)
        game.start(by_launcher=True)
        with game.log_in_admin() as admin:
            admin.ask("examine bram", r"world\.guards\.Guard")
            admin.ask("whisper bram = hello", "You whisper to Bram")
            admin.ask("scripts", "Bram")
        assert "If you removed it, put it back to release" in read_new_log(game, start)
        game.launch("shell", "-c", CLEAN)
        game.stop()
        assert before == rows_of(game, number)


def is_his_own(admin: Player) -> None:
    """Check that the game's commands and searches see his own class only."""
    admin.ask("typeclass/list", "Core typeclasses")
    admin.ask("examine bram", r"world\.guards\.Guard")
    seen = run(
        admin,
        f"{BRAM}kind = bram.__class__\n"
        "from evennia.utils.utils import get_all_typeclasses\n"
        "told = [bram in kind.objects.all(), bram in kind.objects.all_family(),\n"
        "bram.is_typeclass('world.guards.Guard', exact=True), isinstance(bram, kind),\n"
        "[path for path in get_all_typeclasses() if 'Guard' in path]]",
    )
    assert "[True, True, True, True, ['world.guards.Guard']]" == seen


def fight(tom: Player, admin: Player, model: FakeModel) -> None:
    """Combat kills him, and he falls silent; healed, he talks."""
    tom.ask("attack bram", "You attack Bram", 30)
    tom.expect("The combat is over", 90)
    assert int(run(admin, f"{BRAM}told = bram.hp")) <= 0
    calls = model.count_calls()
    tom.ask("whisper bram = hello?", DEAD)
    tom.ask("say Bram, hello?", "You say")
    tom.ask("look", "Barracks")
    assert (1, calls) == (tom.count(DEAD), model.count_calls())
    admin.ask("assistant status bram", "cannot act")
    run(admin, f"{BRAM}bram.heal(100)")
    tom.ask("whisper bram = alive?", whisper_of("alive?", "Bram"))
