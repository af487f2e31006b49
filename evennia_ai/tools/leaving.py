"""The check before words leave: who would hear them at this moment, and who else is about.

The rule and the table of ways are in `core.hearing.audience`; here is who listens, as it is when
the call is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from evennia.accounts.models import AccountDB
from typing_extensions import TypeIs

from evennia_ai.core.hearing.audience import (
    WAYS,
    Hearers,
    Leave,
    Listener,
    Otherwise,
    carries_words,
    listener,
    masked,
    may_leave,
    way_of,
)
from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.memory.recollection import WORLD, faction_audience, person_audience
from evennia_ai.core.text.cleaning import name_as_data
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Account, GameObject
from evennia_ai.errors import ToolDeniedError
from evennia_ai.messages import incoming, outgoing
from evennia_ai.runtime import audience, names, state
from evennia_ai.runtime.assistant import Assistant, Character
from evennia_ai.tools.senses import find_listener
from evennia_ai.tools.speech import find_online

FREE = "free"
ADVICE = "answer whoever told you, in a whisper or a page, or let it be"


class PeopleLookup:
    """The people of the game, as a call names them."""

    def online(self, name: str, asker_id: str, character: Character) -> Account:
        """The account of an online player; raises ToolError where there is none."""
        return find_online(name, asker_id, character)

    def by_id(self, being_id: str) -> GameObject | Account | None:
        """The object or account of an id, or None when it is gone."""
        found: GameObject | Account | None = incoming.find_being(being_id)
        return found

    def is_account(self, being: GameObject | Account) -> TypeIs[Account]:
        """True where a being is an account and no character."""
        return isinstance(being, AccountDB)


@dataclass(frozen=True, slots=True)
class Guard:
    """Decides for one assistant, each time anew.

    Args:
        check: raises ToolError where a turn may not use the tool of that name.
        people: finds those who are named, and who is behind them.
    """

    script: Assistant
    check: Callable[[str, Turn], None]
    people: PeopleLookup = field(default_factory=PeopleLookup)

    def refusal(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> str:
        """The reason why a call may not be made at all, for the model, or ""."""
        leave = self.leave(turn, spec, call)
        is_held = not leave.is_allowed and leave.way.otherwise is Otherwise.REFUSED
        return refused(leave) if is_held else ""

    def __call__(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall | ToolResult:
        """The call as it may be run, or what was done in its place.

        Raises:
            ToolError: nothing of it may leave.
        """
        leave = self.leave(turn, spec, call)
        if leave.is_allowed:
            return call
        if leave.way.otherwise is Otherwise.MASKED:
            self._note(turn, call, f"{leave.why}; its words were left out")
            return _without_words(call, leave)
        if leave.way.otherwise is Otherwise.ASIDE:
            return self._aside(turn, call, leave)
        self._note(turn, call, f"{leave.why}; it was held back")
        raise ToolDeniedError(refused(leave))

    def leave(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> Leave:
        """The leave of a call's words to go out by its tool at this moment.

        Raises:
            ToolError: whoever is named is not to be found.
        """
        way = way_of(spec)
        if not turn.held or state.read(self.script, "private_words") == FREE:
            return Leave(way)
        if not carries_words(spec, call.arguments):
            return Leave(way)
        found: Iterable[Listener] = ()
        if way.hearers in (Hearers.ROOM, Hearers.NAMED):
            found = self._listeners(turn, way.hearers, call)
        return may_leave(way, turn.held, found)

    def _listeners(self, turn: Turn, hearers: Hearers, call: ToolCall) -> Iterator[Listener]:
        """Those who would hear it now.

        Raises:
            ToolError: whoever is named is not to be found.
        """
        body, beings = self.script.obj, list[GameObject | Account]()
        if hearers is Hearers.NAMED:
            name = str(call.arguments.get("target", ""))
            if call.name == "page":
                beings = [self.people.online(name, turn.event.person, body)]
            else:
                beings = [find_listener(body, name, turn)]
            # Of a room the tool itself says that it has no ears.
            beings = [
                each for each in beings if each != body.location or audience.has_ears(body.location)
            ]
        else:
            beings = list(audience.ears(body))
        deaf = outgoing.muters(body, beings)
        return (self._listener(turn, being) for being in beings if being not in deaf)

    def _listener(self, turn: Turn, being: GameObject | Account) -> Listener:
        person = self.person_of(being, turn)
        audiences = [WORLD, person_audience(person)]
        if any(each.startswith("faction:") for each in turn.held):
            audiences += map(faction_audience, self._factions(being))
        return listener(name_as_data(names.name_of(being, self.script.obj)), audiences)

    def person_of(self, being: GameObject | Account, turn: Turn) -> str:
        """The identity of a being: `messages.incoming.face_of` without reading the account."""
        if mask := names.mask_of(being, self.script.obj):
            return mask
        if self.people.is_account(being):
            return incoming.id_of(being)
        account = being.db_account_id
        if account is not None:
            return f"*#{account}"
        # Nobody is in the asker's own body: whoever comes back to it is the asker.
        is_askers = being.dbref == turn.event.sender_id and not being.sessions.count()
        return turn.event.face if is_askers else str(being.dbref)

    def _factions(self, being: GameObject | Account) -> set[str]:
        category = state.memory_config(self.script).faction_category
        bodies = being.get_all_puppets() if self.people.is_account(being) else [being]
        return {
            name for body in bodies for name in body.tags.get(category=category, return_list=True)
        }

    # ---- in its place --------------------------------------------------------------------------

    def _aside(self, turn: Turn, call: ToolCall, leave: Leave) -> ToolResult:
        """Tell whoever asked alone what was to be said before others.

        Raises:
            ToolError: nobody asked, or not even the one who did may know, or is there to hear it.
        """
        found = self._asker(turn)
        if found is None:
            self._note(turn, call, f"{leave.why}; it was held back")
            raise ToolDeniedError(refused(leave))
        being, tool = found
        self.check(tool, turn)
        words = str(call.arguments.get(leave.way.words[0], ""))
        if self.people.is_account(being):
            outgoing.page(self.script.obj, being, words, hops=turn.hops, more=turn.marks)
        else:
            outgoing.whisper(self.script.obj, being, words, hops=turn.hops, more=turn.marks)
        turn.addressee = turn.event.face
        self._note(turn, call, f"{leave.why}; it went by {tool} to whoever asked")
        who = name_as_data(turn.event.sender_name)
        return ToolResult(True, f"{leave.why}, so it went by {tool} to {who} alone")

    def _asker(self, turn: Turn) -> tuple[GameObject | Account, str] | None:
        """Whoever asked, and the tool by which they alone are told; None where that cannot be."""
        event, room = turn.event, self.script.obj.location
        being = None if event.kind in (OWN, TASK) else self.people.by_id(event.sender_id)
        if being is None:
            return None
        tool = "whisper"
        if room is None or self.people.is_account(being) or being.location != room:
            being, tool = self.people.by_id(event.person), "page"
            if being is None or not self.people.is_account(being) or not being.sessions.count():
                return None
        leave = may_leave(WAYS[tool], turn.held, [self._listener(turn, being)])
        return (being, tool) if leave.is_allowed else None

    def _note(self, turn: Turn, call: ToolCall, detail: str) -> None:
        numbers = [event.number for event in turn.events if event.number]
        name = call.name if call.name in WAYS else "a tool"
        self.script.work.decisions.note(numbers, "private words", f"{name}: {detail}")


def refused(leave: Leave) -> str:
    """The reason why nothing of a call may leave, for the model."""
    return f"you were told something in private, and {leave.why}; {ADVICE}"


def _without_words(call: ToolCall, leave: Leave) -> ToolCall:
    given = {
        name: masked(str(value)) if name in leave.way.words else value
        for name, value in call.arguments.items()
    }
    return replace(call, arguments=given)
