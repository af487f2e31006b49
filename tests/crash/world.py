"""A small game in a file: a room, Tom who is online, Mira, and Ada.

Each line that Tom or Mira is told goes at once into a file beside the database, so that it outlives
the process.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import evennia
from django.conf import settings
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultCharacter
from evennia.scripts.models import ScriptDB
from evennia.utils.ansi import strip_ansi
from evennia.utils.create import create_account, create_channel, create_object
from twisted.internet.defer import Deferred, succeed

from evennia_ai import operations
from evennia_ai.llm.scripted import ScriptedModel
from evennia_ai.runtime import services, state
from evennia_ai.testing import UNHURRIED, pump
from tests.crash import moments
from tests.online import log_in

ROOM = "evennia.objects.objects.DefaultRoom"
TOLD = "told.jsonl"
Decide = Callable[[Mapping[str, Any]], "bytes | Exception | None"]


class Witness(DefaultCharacter):  # type: ignore[misc]
    """A player's character that keeps a file of the lines it is told."""

    folder: Path | None = None

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        """Write the line down; that is a moment too."""
        raw = text[0] if isinstance(text, tuple) else text
        line = {"to": self.key, "from": getattr(from_obj, "key", ""), "text": strip_ansi(str(raw))}
        if Witness.folder is not None:
            with moments.NOW.around(f"telling {self.key}: {line['text']}"):
                _append(Witness.folder / TOLD, json.dumps(line) + "\n")
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)


def _append(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, text.encode())
    os.close(file)


def lines_told(folder: Path, to: str = "Tom") -> list[str]:
    """Return the lines that somebody was told, the oldest first."""
    path = folder / TOLD
    lines = path.read_text().splitlines() if path.exists() else []
    return [line["text"] for line in map(json.loads, lines) if line["to"] == to]


class Brain(ScriptedModel):
    """A model that decides by the request; on None it never answers."""

    def __init__(self, decide: Decide) -> None:
        super().__init__()
        self.decide = decide

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        answer = self.decide(body)
        if answer is None:
            return super().post(body)
        self.bodies.append(body)
        if isinstance(answer, bytes):
            return succeed(answer)
        self.answers.append(answer)
        return super().post(body)


def build() -> None:
    """Make the world, once, in an empty database."""
    for name in ("nowhere", "the reading room"):
        room = create_object(ROOM, key=name, nohome=True)
    create_channel(**settings.CHANNEL_MUDINFO)
    account = create_account("Tom", "", "kestrel-harbour-94")
    account.permissions.add("Developer")
    people = {key: create_object(Witness, key=key, location=room) for key in ("Tom", "Mira")}
    people["Tom"].account = account
    account.db._last_puppet = people["Tom"]
    people["Tom"].permissions.add("Developer")
    result = operations.create_assistant("Ada", location=room)
    assert result.ok, result.message
    state.write(result.data.script, hearing_config=UNHURRIED)
    pump()


class Game:
    """The game in one process, as it is after the start of a server.

    Attributes:
        folder: of its database and its other files.
        brain: Ada's model.
    """

    def __init__(self, folder: Path, decide: Decide) -> None:
        self.folder = folder
        Witness.folder = folder
        evennia.SESSION_HANDLER.data_out = _tell_nobody
        self.brain = Brain(decide)
        services.pool().set_transport(services.endpoint(), self.brain)

    def start(self) -> None:
        """Start scripts as Evennia does at a server start, and log Tom in."""
        evennia.ScriptDB.objects.update_scripts_after_server_start()
        account = AccountDB.objects.get(username="Tom")
        session = log_in(account, number=1)
        account.puppet_object(session, self.being("Tom"))
        pump()

    @property
    def ada(self) -> Any:
        """Ada's script."""
        return ScriptDB.objects.get(db_key="Ada")

    def being(self, name: str) -> Any:
        """Return somebody in the world by name."""
        return ObjectDB.objects.get(db_key=name)

    def type(self, line: str, name: str = "Tom") -> None:
        """Let a person type a line, and run all that is due then."""
        self.being(name).execute_cmd(line)
        pump()

    def beat(self) -> None:
        """Fire Ada's timer."""
        self.ada.at_repeat()
        pump()


def _tell_nobody(*_: Any, **__: Any) -> None:
    """Stand in for the portal."""
