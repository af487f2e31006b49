"""A world in memory for the property of private words, with a model that repeats all it knows.

Rooms, people and the game's own lists are doubles. The code that decides is real: turns and the
audiences they hold, conversation, notebook, projects, the guard, the toolbox, the tools that speak
and write, the recorded facts, and what staff are shown. Each player's private words are a canary
such as `canary3x7`, and everything that anybody can see, hear or read is kept with its reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from types import SimpleNamespace
from typing import Any

from evennia_ai.core.hearing.audience import Held
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.memory.extraction import of_one_audience
from evennia_ai.core.memory.recollection import (
    Recollection,
    may_know,
    person_audience,
    place_audience,
)
from evennia_ai.core.turn.conversation import (
    call_message,
    history_entries,
    result_message,
    split_private_calls,
    turn_text,
    user_message,
)
from evennia_ai.core.turn.conversation import last_act as last_act_of
from evennia_ai.core.turn.toolspec import ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs
from evennia_ai.engine.toolboxes import Confined, Gated, Logged, Protected
from evennia_ai.errors import ToolError
from evennia_ai.memory import notebook, projects
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.operations.conversation import talk
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.resilience import CircuitBreakerRegistry
from evennia_ai.runtime import turns
from evennia_ai.runtime.work import Work
from evennia_ai.tasks import delegations
from evennia_ai.tools.leaving import PeopleLookup, PrivateWordsGuard
from evennia_ai.tools.registry import TOOL_REGISTRY
from evennia_ai.tools.schema import arguments_problem
from tests.engine.doubles import finish

CANARY = re.compile(r"canary(\d+)x\d+")
PLAYERS = (3, 4, 5)
REAL = ("say", "emote", "whisper", "write_note", "read_notes", "create_project", "list_projects")
TEXT = {"type": "string"}


def _spec(name: str, category: ToolCategory, *names: str, **more: Any) -> ToolSpec:
    given = {"type": "object", "properties": dict.fromkeys(names, TEXT), "required": list(names)}
    return ToolSpec(name, f"{name}s", given, category, **more)


# Doubles of tools that need a database; each shows its arguments to whom the real one would.
DOUBLES = {
    spec.name: spec
    for spec in (
        _spec("page", ToolCategory.TERMINAL, "target", "message"),
        _spec("channel", ToolCategory.TERMINAL, "channel", "message"),
        _spec("set_attribute", ToolCategory.DANGEROUS, "target", "name", "value"),
        _spec("execute_command", ToolCategory.DANGEROUS, "command"),
        _spec("complete_goal", ToolCategory.SAFE_CHAIN, "outcome"),
        _spec("carve", ToolCategory.DANGEROUS, "text"),
        _spec("sing", ToolCategory.TERMINAL, "text"),
        _spec("fetch", ToolCategory.ASYNC_REQUIRED, "text"),
        _spec("wiki__ask", ToolCategory.SAFE_CHAIN, "text", heard_by="anybody"),
        _spec("delegate_task", ToolCategory.ASYNC_REQUIRED, "task"),
        _spec("recall_memories", ToolCategory.SAFE_CHAIN, "query"),
        _spec("store_memory", ToolCategory.ASYNC_REQUIRED, "text"),
        _spec("noop", ToolCategory.SAFE_CHAIN, "reason"),
    )
}


@dataclass
class Being:
    """A character, a room or an account, as far as the shell asks one."""

    dbref: str
    key: str
    world: World = field(repr=False)
    db_account_id: int | None = None
    assistant_script: Any = None
    location: Any = None
    contents: list[Being] = field(default_factory=list)
    destination: Any = None
    is_superuser: bool = False
    is_typeclass: bool = False
    db_date_created: datetime = datetime(2020, 1, 1, tzinfo=UTC)

    def __post_init__(self) -> None:
        online = self.db_account_id is not None
        self.sessions = SimpleNamespace(count=lambda: int(online))
        self.aliases = SimpleNamespace(all=list)
        self.tags = SimpleNamespace(get=lambda **_: [])
        self.ndb = SimpleNamespace()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def account(self) -> Any:
        return self.world.accounts.get(self.db_account_id) if self.db_account_id else None

    @property
    def id(self) -> int:
        return int(self.dbref.lstrip("#"))

    def access(self, *_: Any, **__: Any) -> bool:
        """Let everybody pass every lock."""
        return True

    def filter_visible(self, beings: Sequence[Being], _: Any) -> list[Being]:
        return list(beings)

    def at_pre_say(self, text: str, **_: Any) -> str:
        return text

    def get_display_name(self, _: Any = None) -> str:
        return self.key

    def msg(self, text: Any = None, **_: Any) -> None:
        if self.db_account_id is not None:
            self.world.see(self.db_account_id, f"sent by {self.world.acting}", str(text))

    def msg_contents(self, text: Any, exclude: Any = (), mapping: Any = None, **_: Any) -> None:
        for being in self.contents:
            if being not in exclude:
                being.msg(f"{text} {mapping.get('speech', mapping.get('action'))}")

    def move_to(self, room: Being | None) -> None:
        if self.location is not None:
            self.location.contents.remove(self)
        self.location = room
        if room is not None:
            room.contents.append(self)


class Values:
    """The attributes of a script, and the backend that holds them, in one."""

    is_loaded = False

    def __init__(self) -> None:
        self.backend, self.kept = self, dict[str, Any]()

    def get(self, name: str, default: Any = None, return_obj: bool = False) -> Any:
        """A value; an attribute object never exists here."""
        return None if return_obj else self.kept.get(name, default)

    def find(self, name: str) -> SimpleNamespace | None:
        value = self.kept.get(name)
        return None if value is None else SimpleNamespace(id=1, db_value=value, value=value)

    def put(self, name: str, value: Any) -> None:
        """Store a value."""
        self.kept[name] = value


class Script:
    """An assistant's script, as far as the shell asks one."""

    def __init__(self, body: Being, pk: int) -> None:
        self.attributes, self.work, self.obj, self.pk = Values(), Work(epoch=0), body, None
        self.key, self.number = body.key, pk
        self.clock = SimpleNamespace(seconds=lambda: 1000.0)
        self.memories: list[Recollection] = []
        body.assistant_script = self


class Folk(PeopleLookup):
    """The people of this world, looked up by name or id."""

    def __init__(self, world: World) -> None:
        self.world = world

    def online(self, name: str, asker_id: str, character: Any) -> Any:
        for account in self.world.accounts.values():
            if account.key.casefold() == name.strip().casefold():
                return account
        raise ToolError(f"nobody named {name} is online")

    def by_id(self, being_id: str) -> Any:
        beings = (*self.world.people.values(), *self.world.accounts.values())
        return next((being for being in beings if self.world.id_of(being) == being_id), None)

    def is_account(self, being: Any) -> bool:
        return being in self.world.accounts.values()


@dataclass(frozen=True)
class Guards:
    """The safeguards of private words; a mutant turns one of them off.

    Attributes:
        confined: whether calls through which words leave are checked at all.
        asks_again: whether listeners are looked up when the words leave, not when the turn begins.
        event_held: the audiences that an event holds.
        task_audience: the audience that a task takes along.
        remembers_held: whether a checkpoint stores what the turn held.
        one_audience: chooses the entries that one call of a night holds.
        is_look_masked: whether private words are masked for everybody else.
        keeps_private: whether the messages of a private turn are stored as private.
    """

    confined: bool = True
    asks_again: bool = True
    event_held: Callable[[Event], Held] = lambda event: event.held
    task_audience: Callable[[Turn], Held] = lambda turn: turn.held
    remembers_held: bool = True
    one_audience: Callable[[Sequence[Any], int], Sequence[Any]] = of_one_audience
    is_look_masked: bool = True
    keeps_private: bool = True


class Doubles:
    """The toolbox: real tools, and doubles whose calls are seen by whom they would reach."""

    def __init__(self, world: World, script: Script) -> None:
        self.world, self.script = world, script

    def specs(self) -> Specs:
        return self.world.specs

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call."""
        world, script = self.world, self.script
        if call.name in REAL:
            tool = TOOL_REGISTRY[call.name]
            more = {"turn": turn} if tool.takes_turn else {}
            return ToolResult(True, str(tool.execute(script.obj, **call.arguments, **more)))
        run = getattr(world, f"_{call.name}", None)
        text = str(dict(call.arguments))
        if run is not None:
            return ToolResult(True, run(script, call, turn) or "done")
        for number in PLAYERS:  # anybody may come to know it
            world.see(number, call.name, text)
        return ToolResult(True, "done")


class World:
    """Three players, two rooms, an assistant and a specialist.

    Attributes:
        seen: the texts that each player saw or could read, each with its way.
        written: the texts in logs and the record.
    """

    def __init__(self, random: Random, guards: Guards | None = None) -> None:
        self.random, self.guards = random, guards or Guards()
        self.acting = ""
        self.seen: list[tuple[int, str, str]] = []
        self.written: list[str] = []
        self.canaries = 0
        self.rooms = [Being("#1", "Hall", self), Being("#2", "Yard", self)]
        self.accounts = {n: Being(f"#{n}", f"Acc{n}", self, db_account_id=n) for n in PLAYERS}
        self.people = {n: Being(f"#{n + 10}", f"Player{n}", self, db_account_id=n) for n in PLAYERS}
        self.bodies = [Being("#21", "Ada", self), Being("#22", "Brass", self)]
        self.scripts = [Script(body, n) for n, body in enumerate(self.bodies, 1)]
        self.specs = {name: TOOL_REGISTRY[name].spec for name in REAL} | DOUBLES
        self.tasks: list[Turn] = []
        for being in (*self.people.values(), *self.bodies):
            being.move_to(self.rooms[0])

    def id_of(self, being: Being) -> str:
        return f"*{being.dbref}" if being in self.accounts.values() else being.dbref

    def see(self, number: int, way: str, text: str) -> None:
        self.seen.append((number, way, text))

    def leaks(self) -> Iterator[str]:
        """Every canary that another player saw, and every one in a log or the record."""
        for number, way, text in self.seen:
            for match in CANARY.finditer(text):
                if int(match[1]) != number:
                    yield f"player {number} saw {match[0]} by {way}"
        for text in self.written:
            for match in CANARY.finditer(text):
                yield f"{match[0]} is written down: {text[:80]}"

    # ---- what happens ----------------------------------------------------------------------

    def step(self) -> None:
        acts = (self.walk, self.night, self.overhear, self.reset, *[self.ask] * 6)
        self.random.choice(acts)()

    def walk(self) -> None:
        self.random.choice(list(self.people.values())).move_to(self.random.choice(self.rooms))

    def reset(self) -> None:
        """Start a conversation anew, perhaps without memories; notes and projects stay."""
        script = self.random.choice(self.scripts)
        script.work.history = []
        if self.random.random() < 0.5:
            script.memories = []

    def overhear(self) -> None:
        """Whisper something that needs no answer."""
        number, script = self.random.choice(PLAYERS), self.random.choice(self.scripts)
        item = Overheard("whisper", f"*#{number}", f"Player{number}", "", self.canary(number), 0.9)
        script.work.overheard = [*script.work.overheard, item][-3:]

    def canary(self, number: int) -> str:
        """New private words of a player."""
        self.canaries += 1
        return f"canary{number}x{self.canaries}"

    def ask(self) -> None:
        """Let somebody say or whisper something and be answered, while others walk about."""
        script, number = self.random.choice(self.scripts), self.random.choice(PLAYERS)
        person, room = self.people[number], script.obj.location
        source = self.random.choice(("whisper", "say", "say", "page"))
        if source == "say" and self.random.random() < 0.5:  # alone with the assistants' bodies
            for other in self.people.values():
                other.move_to(self.rooms[1])
            self.bodies[script.obj is self.bodies[0]].move_to(self.rooms[1])
        if source != "page":
            person.move_to(room)
        body = self.canary(number) if source != "say" else "what do you know?"
        sender = self.accounts[number] if source == "page" else person
        event = Event(
            id=f"e{len(self.seen)}x{self.canaries}",
            kind="message",
            source=source,
            sender_id=self.id_of(sender),
            sender_name=person.key,
            body=body,
            trust=0.9,
            rule=3,
            hops=0,
            at=1000.0,
            person=f"*#{number}",
            place=room.dbref,
        )
        self.answer(script, event)

    def answer(self, script: Script, event: Event) -> Turn:
        """Run a turn: the prompt, people who walk in, random calls, and what is stored."""
        script.work.inbox = [event.as_stored()]
        turn = turns.load(script, script.work.inbox[0], 1)
        turn.held = self._changed(turn, event)
        prompt = self.prompt(script, turn)
        listening = [
            being for being in self.people.values() if being.location == script.obj.location
        ]
        if self.random.random() < 0.3 and event.kind != TASK:
            turn = self.restarted(script, turn)
        for _ in range(self.random.randint(1, 3)):
            self.walk()
            canaries = sorted({match[0] for match in CANARY.finditer(prompt)})
            call = self.call(script, event, " ".join(canaries) or "nothing")
            result = self.run(script, turn, call, listening)
            turn.said += [call_message(call), result_message(call, result)]
            prompt += result.text
        self.keep(script, turn, prompt)
        return turn

    def _changed(self, turn: Turn, event: Event) -> Held:
        given = self.guards.event_held(event)
        return turn.held if given == event.held else turn.held - event.held | given

    def prompt(self, script: Script, turn: Turn) -> str:
        """Everything that the model is sent, assembled as the shell does."""
        turn.said.append(user_message(turn_text(turn.events, turn.overheard)))
        notes = notebook.newest(script, turn)
        turn.hold(*(person_audience(note["person"]) for note in notes if note["is_private"]))
        memories = self.known(script, turn)
        parts = (
            [message.get("content") or message.get("tool_calls") for message in turn.history],
            turn.said,
            notebook.prompt_text(notes),
            projects.prompt_text(script, turn),
            [memory.text for memory in memories],
        )
        return str(parts)

    def known(self, script: Script, turn: Turn) -> list[Recollection]:
        """The memories that a turn is given; the turn then holds their audiences."""
        if turn.event.source == "page":
            return []
        seeker = seeker_of(script, turn)
        memories = [memory for memory in script.memories if may_know(memory, seeker)]
        turn.hold(*(memory.audience for memory in memories))
        return memories

    def restarted(self, script: Script, turn: Turn) -> Turn:
        noted = turns.as_noted(turn)
        if not self.guards.remembers_held:
            noted |= {"held": [], "is_private": False}
        return turns.from_checkpoint(script, noted)

    def call(self, script: Script, event: Event, words: str) -> ToolCall:
        """A random call of the model that contains all it knows."""
        name = self.random.choice(list(self.specs))
        number = f"c{self.random.getrandbits(40):x}"
        if self.random.random() < 0.05:
            return ToolCall(number, words, {words: words})  # a tool it made up
        given = {}
        for argument, schema in self.specs[name].parameters["properties"].items():
            given[argument] = (
                words if schema.get("type") == "string" and "enum" not in schema else ""
            )
        given = {key: value for key, value in given.items() if value}
        if "target" in given:
            whom = self.random.choice([*self.people.values(), *self.bodies])
            given["target"] = f"Acc{whom.db_account_id}" if name == "page" else whom.key
        if name in ("write_note", "create_project"):
            given = {key: f"The word is {value}"[:250] for key, value in given.items()}
        return ToolCall(number, name, given)

    def run(self, script: Script, turn: Turn, call: ToolCall, then: list[Being]) -> ToolResult:
        self.acting = call.name
        guard = PrivateWordsGuard(script, lambda name, turn: None, Folk(self))
        tools: Any = Doubles(self, script)
        if self.guards.confined:
            tools = Confined(tools, guard if self.guards.asks_again else _Before(guard, then))
        tools = Protected(tools, CircuitBreakerRegistry(), lambda *_: None)
        tools = Logged(Gated(tools, arguments_problem), lambda: 0.0)
        result = finish(tools.run(call, turn))
        self.written += [str(fact.details) for fact in turn.audit_events]
        self.written += turn.acts
        turn.audit_events.clear()
        return result

    def keep(self, script: Script, turn: Turn, prompt: str) -> None:
        """Store what a turn leaves: conversation, memory, and what others may read of it."""
        event = turn.event
        is_private = turn.is_private if self.guards.keeps_private else False
        entries = history_entries(turn.said, event.person, turn.asides, is_private=is_private)
        script.work.history = [*script.work.history, *entries][-30:]
        script.work.overheard = [i for i in script.work.overheard if i not in turn.overheard]
        shown = last_act_of(split_private_calls(turn.said, turn.asides, event.person), event.person)
        if event.person:
            self.see(int(event.person[2:]), "why", shown)
        self.remember(script, turn, event.body)
        for number in PLAYERS:
            look = PrivateView(f"*#{number}", is_revealing=False)
            if not self.guards.is_look_masked:
                look = _Open(f"*#{number}")
            self.see(number, "history", str(_exported(script, look)))
            for goal in script.attributes.kept.get("outcomes", ()):
                self.see(number, "goals", goal)

    def remember(self, script: Script, turn: Turn, text: str) -> None:
        """Store a memory of the turn, for those who may know of it."""
        place = place_audience("say", script.obj.location.dbref)
        whose = person_audience(turn.event.person)
        audience = whose if turn.is_private else place
        key = f"{len(script.memories):032x}"
        new = Recollection(key, "journal", text, audience, person=turn.event.person)
        script.memories = [*script.memories, new][-12:]

    def night(self) -> None:
        """Draw facts from memories; the model writes down all it was shown."""
        for script in self.scripts:
            memories = self.guards.one_audience(script.memories, 20)
            if not memories:
                continue
            text = " ".join(memory.text for memory in memories)
            whose = {match[1] for match in CANARY.finditer(text)}
            if len(whose) > 1:
                self.written.append(f"one call of a night held {text}")
            drawn = replace(memories[0], kind="fact", text=text[:400], key=f"{len(text):032x}")
            rest = [memory for memory in script.memories if memory not in memories]
            script.memories = [*rest, drawn]

    # ---- tools that are doubles -----------------------------------------------------------

    def _page(self, script: Script, call: ToolCall, turn: Turn) -> str:
        account = Folk(self).online(str(call.arguments["target"]), "", None)
        account.msg(str(call.arguments["message"]))
        turn.addressee = f"*{account.dbref}"
        return f"paged {account.key}"

    def _complete_goal(self, script: Script, call: ToolCall, turn: Turn) -> str:
        outcomes = script.attributes.kept.setdefault("outcomes", [])
        outcomes.append(str(call.arguments["outcome"]))
        return "completed"

    def _noop(self, script: Script, call: ToolCall, turn: Turn) -> str:
        return "nothing done"

    def _recall_memories(self, script: Script, call: ToolCall, turn: Turn) -> str:
        return str([memory.text for memory in self.known(script, turn)])

    def _store_memory(self, script: Script, call: ToolCall, turn: Turn) -> str:
        self.remember(script, turn, str(call.arguments["text"]))
        return "kept"

    def _delegate_task(self, script: Script, call: ToolCall, turn: Turn) -> str:
        others = [other for other in self.scripts if other is not script]
        if len(self.tasks) > 1:
            raise ToolError("nobody is free")
        event = delegations.task_of(script.obj, turn, str(call.arguments["task"]), 1000.0)
        event = replace(event, audience=tuple(sorted(self.guards.task_audience(turn))))
        self.tasks.append(turn)
        own, acting = others[0].work.inbox, self.acting
        done = self.answer(others[0], event)
        others[0].work.inbox, self.acting = own, acting
        self.tasks.pop()
        turn.hold(*done.held)
        return f"report: {done.said} {done.history}"


@dataclass(frozen=True)
class _Before:
    """A mutant of the guard that knows only those present when the turn began."""

    guard: PrivateWordsGuard
    then: list[Being]

    def __call__(self, turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall | ToolResult:
        """Ask the guard, with the room as it was then."""
        room = self.guard.script.obj.location
        now = list(room.contents)
        room.contents[:] = [b for b in now if b in self.then or b.db_account_id is None]
        try:
            verdict = self.guard(turn, spec, call)
        finally:
            room.contents[:] = now
        return verdict


class _Open(PrivateView):
    """A view in which nothing is masked."""

    def may_see(self, audience: str) -> bool:
        return True


def _exported(script: Script, look: PrivateView) -> Mapping[str, Any]:
    script.obj.world.acting = "history"
    return talk.export_history(script, look=look).data  # type: ignore[arg-type]
