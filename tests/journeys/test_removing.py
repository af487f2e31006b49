"""A game gets assistants, and removes them and the package without a trace."""

import re
from pathlib import Path

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.clients import Player
from tests.journeys.game import ROOT, Game
from tests.journeys.readme import edit_file, read_steps
from tests.journeys.staging import measure_log, read_new_log
from tests.journeys.test_adopting import whisper_of

CHANGED = ("server/conf/settings.py", "commands/default_cmdsets.py")
TROUBLE = re.compile(r"\[(WW|EE|!!)\]|Traceback|Error\b|evennia_ai|\[assistant\]")
# Evennia logs this for a page request without a proxy, as the test's webclient makes.
OUR_CLIENT = "ip_from_request"
# All columns of the game's own tables that could name something of ours.
NAMED = (
    "SELECT db_typeclass_path FROM objects_objectdb",
    "SELECT db_typeclass_path FROM accounts_accountdb",
    "SELECT db_typeclass_path FROM scripts_scriptdb",
    "SELECT db_typeclass_path FROM comms_channeldb",
    "SELECT db_cmdset_storage FROM objects_objectdb",
    "SELECT db_cmdset_storage FROM accounts_accountdb",
    "SELECT db_key FROM typeclasses_tag",
    "SELECT db_key FROM server_serverconfig",
)
PICKLED = (
    "import pickletools, base64; from django.db import connection; c = connection.cursor(); "
    "c.execute('SELECT db_value FROM typeclasses_attribute WHERE db_value IS NOT NULL'); "
    "print('held:', [v for (v,) in c.fetchall() if b'evennia_ai' in base64.b64decode(v)])"
)


def test_a_game_is_as_if_they_had_never_been_there(
    stock: Path, tmp_path: Path, model: FakeModel
) -> None:
    """Afterwards no line of the log and no row of the database mentions the package."""
    with Game.copy(stock, tmp_path / "theirs") as game:
        game.ask_model_at(model.base_url, MODEL_NAME)
        files = [game.folder / name for name in CHANGED]
        texts = {path: path.read_text() for path in files}
        install(game)
        game.start(by_launcher=True)
        with game.log_in_admin() as admin:
            live_with_them(admin)
            game.launch("reload")
            admin.ask("whisper edda = still there?", whisper_of("still there?", "Edda"), 60)
            admin.ask("assistant remove all", r"with their bodies: 2 \(.*\)\. Taken out .*: 1 \(")
            done = admin.ask("yes", r"2 \(Brass, Edda\)[^\n]*\n.*\n.*pip uninst")
            for path in CHANGED:
                assert f"{path}:" in done[0]
            admin.ask("whisper bram = hello", "You whisper to Bram")
        game.stop()
        game.launch("migrate", "evennia_ai", "zero")
        for path, text in texts.items():
            path.write_text(text)
        uninstall(game)
        assert "No module" in game.run_python("-c", IMPORT)
        start = measure_log(game)
        game.start(by_launcher=True)
        with game.log_in_admin() as admin:
            is_a_game(admin)
            game.launch("reload")
            is_a_game(admin)
        lines = read_new_log(game, start).splitlines()
        assert [] == [line for line in lines if TROUBLE.search(line) and OUR_CLIENT not in line]
        assert "held: []" in game.launch("shell", "-c", PICKLED)
        names = [str(value) for query in NAMED for (value,) in game.query(query)]
        assert [] == [name for name in names if "evennia_ai" in name or "ai_assistant" in name]
        game.launch("stop")


IMPORT = """
try:
    import evennia_ai
except ModuleNotFoundError as error:
    print(error)
"""


def uninstall(game: Game) -> None:
    """Hide the package from the game's Python, even where it is installed."""
    (game.root / "lib" / "evennia_ai").unlink()
    gone = "raise ModuleNotFoundError('No module named evennia_ai', name='evennia_ai')"
    (game.root / "lib" / "evennia_ai.py").write_text(gone)


def install(game: Game) -> None:
    """Apply README's steps to the game's files, and migrate."""
    for step in read_steps((ROOT / "README.md").read_text()):
        if step.kind == "python":
            edit_file(game.folder / step.file, step.lines)
    game.launch("migrate")


def live_with_them(admin: Player) -> None:
    """Three assistants: one with an account, one adopted; a token, and a stored command set."""
    admin.ask("assistant create Edda = Edda copies charts.", "Edda is awake")
    admin.ask("whisper edda = hello", whisper_of("hello", "Edda"))
    admin.ask("assistant create Brass", "Brass is awake")
    admin.ask("assistant account brass", "has an account now")
    admin.ask("create/drop Bram:typeclasses.characters.Character", "You create a new Char")
    admin.ask("assistant adopt bram", "Bram has a mind now")
    admin.ask("whisper bram = hello", whisper_of("hello", "Bram"))
    admin.ask("assistant channel edda public = context", "listens to Public")
    admin.ask("assistant token new dashboard", "shown|token")
    admin.ask("py me.cmdset.add('evennia_ai.commands.AssistantCmdSet', persistent=True)", ">>> me")


def is_a_game(admin: Player) -> None:
    """The game's own commands work, and its characters are what they were."""
    admin.ask("look", "Limbo", 60)
    admin.ask("whisper bram = hello", "You whisper to Bram")
    admin.ask("say hello, Bram", "You say")
    admin.ask("examine bram", r"typeclasses\.characters\.Character")
    admin.ask("page me = hello", "hello")
    admin.ask("public hello", "hello")
    admin.ask("scripts", "Scripts|scripts|No")
    admin.ask("assistant", "is not available")
