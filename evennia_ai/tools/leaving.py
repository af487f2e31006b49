"""The check before words leave the assistant: may everybody who would hear them know them?

The rule and the table of tools are in `core.hearing.audience`. This module finds the listeners at
the moment of the call.
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
    """Finds the people that a call names."""

    def online(self, name: str, asker_id: str, character: Character) -> Account:
        """The account of an online player. Raises ToolError if there is none."""
        return find_online(name, asker_id, character)

    def by_id(self, being_id: str) -> GameObject | Account | None:
        """The object or account of an id, or None if it no longer exists."""
        being: GameObject | Account | None = incoming.find_being(being_id)
        return being

    def is_account(self, being: GameObject | Account) -> TypeIs[Account]:
        """True for an account, False for a character."""
        return isinstance(being, AccountDB)


@dataclass(frozen=True, slots=True)
class PrivateWordsGuard:
    """Decides for each call of an assistant whether its words may leave.

    Args:
        check: raises ToolError if a turn may not use the tool of that name.
        people: finds the people that calls name.
    """

    script: Assistant
    check: Callable[[str, Turn], None]
    people: PeopleLookup = field(default_factory=PeopleLookup)

    def refusal(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> str:
        """The reason for the model why a call is refused, or ""."""
        leave = self.leave(turn, spec, call)
        is_held = not leave.is_allowed and leave.way.otherwise is Otherwise.REFUSED
        return refused(leave) if is_held else ""

    def __call__(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall | ToolResult:
        """The call to run, or the result of what was done instead.

        Raises:
            ToolError: the words may not leave in any form.
        """
        leave = self.leave(turn, spec, call)
        if leave.is_allowed:
            return call
        if leave.way.otherwise is Otherwise.MASKED:
            self._note_decision(turn, call, f"{leave.why}; its words were left out")
            return _without_words(call, leave)
        if leave.way.otherwise is Otherwise.ASIDE:
            return self._tell_asker_alone(turn, call, leave)
        self._note_decision(turn, call, f"{leave.why}; it was held back")
        raise ToolDeniedError(refused(leave))

    def leave(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> Leave:
        """Decide whether a call's words may leave now."""
        way = way_of(spec)
        # Nothing private in the turn, or the owner has turned the check off.
        if not turn.held or state.read(self.script, "private_words") == FREE:
            return Leave(way)
        if not carries_words(spec, call.arguments):
            return Leave(way)
        listeners: Iterable[Listener] = ()
        if way.hearers in (Hearers.ROOM, Hearers.NAMED):
            listeners = self._listeners(turn, way.hearers, call)
        return may_leave(way, turn.held, listeners)

    def _listeners(self, turn: Turn, hearers: Hearers, call: ToolCall) -> Iterator[Listener]:
        """Everybody who would hear the call now."""
        body, beings = self.script.obj, list[GameObject | Account]()
        if hearers is Hearers.NAMED:
            name = str(call.arguments.get("target", ""))
            if call.name == "page":
                beings = [self.people.online(name, turn.event.person, body)]
            else:
                beings = [find_listener(body, name, turn)]
            # A room without ears hears nothing; the tool itself reports that as an error.
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
        # Tags are only loaded if it matters.
        if any(each.startswith("faction:") for each in turn.held):
            audiences += map(faction_audience, self._factions(being))
        return listener(name_as_data(names.name_of(being, self.script.obj)), audiences)

    def person_of(self, being: GameObject | Account, turn: Turn) -> str:
        """The result of `messages.incoming.face_of`, without loading the account."""
        if mask := names.mask_of(being, self.script.obj):
            return mask
        if self.people.is_account(being):
            return incoming.id_of(being)
        account = being.db_account_id
        if account is not None:
            return f"*#{account}"
        # The asker's character without a player is still the asker's, who may come back to it.
        is_askers = being.dbref == turn.event.sender_id and not being.sessions.count()
        return turn.event.face if is_askers else str(being.dbref)

    def _factions(self, being: GameObject | Account) -> set[str]:
        category = state.memory_config(self.script).faction_category
        bodies = being.get_all_puppets() if self.people.is_account(being) else [being]
        return {
            name for body in bodies for name in body.tags.get(category=category, return_list=True)
        }

    # ---- in its place --------------------------------------------------------------------------

    def _tell_asker_alone(self, turn: Turn, call: ToolCall, leave: Leave) -> ToolResult:
        """Tell the asker alone what was meant for everybody in the room."""
        asker = self._asker(turn)
        if asker is None:
            self._note_decision(turn, call, f"{leave.why}; it was held back")
            raise ToolDeniedError(refused(leave))
        being, tool = asker
        # The assistant may have been forbidden to whisper or page.
        self.check(tool, turn)
        words = str(call.arguments.get(leave.way.words[0], ""))
        if self.people.is_account(being):
            outgoing.page(self.script.obj, being, words, hops=turn.hops, more=turn.marks)
        else:
            outgoing.whisper(self.script.obj, being, words, hops=turn.hops, more=turn.marks)
        turn.addressee = turn.event.face
        self._note_decision(turn, call, f"{leave.why}; it went by {tool} to whoever asked")
        who = name_as_data(turn.event.sender_name)
        return ToolResult(True, f"{leave.why}, so it went by {tool} to {who} alone")

    def _asker(self, turn: Turn) -> tuple[GameObject | Account, str] | None:
        """The asker, and the tool that reaches only the asker; None if there is no such way."""
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

    def _note_decision(self, turn: Turn, call: ToolCall, detail: str) -> None:
        numbers = [event.number for event in turn.events if event.number]
        # Other names are not fixed words of ours: a remote server or a model may have made them up.
        name = call.name if call.name in WAYS else "a tool"
        self.script.work.decisions.note(numbers, "private words", f"{name}: {detail}")


def refused(leave: Leave) -> str:
    """The text for the model when a call's words may not leave."""
    return f"you were told something in private, and {leave.why}; {ADVICE}"


def _without_words(call: ToolCall, leave: Leave) -> ToolCall:
    arguments = {
        name: masked(str(value)) if name in leave.way.words else value
        for name, value in call.arguments.items()
    }
    return replace(call, arguments=arguments)
