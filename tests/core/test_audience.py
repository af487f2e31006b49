"""Who may know what, where words leave: the table of ways, and the one rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.audience import (
    BY_CATEGORY,
    DECLARED,
    OPEN,
    WAYS,
    Hearers,
    Listener,
    Otherwise,
    Way,
    carries_words,
    confined,
    listener,
    may_leave,
    way_of,
    words,
)
from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.memory.extraction import of_one_audience
from evennia_ai.core.memory.recollection import NOBODY, WORLD, Recollection
from evennia_ai.core.turn.conversation import (
    PRIVATE_TO,
    Message,
    history_entries,
    last_act,
    split_private_calls,
    visible_history,
)
from evennia_ai.core.turn.toolspec import ToolCategory, ToolSpec
from evennia_ai.core.turn.turn import Turn
from tests.core.samples import make_event

TOM, MIRA, GUILD = "person:account-3", "person:account-4", "faction:guild"
HELD = frozenset((TOM,))
ROOM = Way("aloud", Hearers.ROOM, Otherwise.ASIDE, ("message",))
AUDIENCES = st.frozensets(st.sampled_from([TOM, MIRA, GUILD, NOBODY]))


def test_what_was_said_in_the_open_is_open() -> None:
    """Rooms, channels and the world bind nobody; persons, factions and nobody do."""
    assert {TOM, GUILD, NOBODY} == confined(
        [WORLD, "room:object-2", "channel:x", TOM, GUILD, NOBODY]
    )


@given(AUDIENCES, st.lists(AUDIENCES))
def test_all_who_hear_it_may_know_all_of_it(
    held: frozenset[str], crowd: list[frozenset[str]]
) -> None:
    """Words leave where each that hears them belongs to every audience of what the turn held."""
    listeners = [listener(f"being {n}", audiences) for n, audiences in enumerate(crowd)]
    may = all(held <= each.audiences for each in listeners)
    leave = may_leave(ROOM, held, listeners)
    assert leave.is_allowed is may
    assert bool(leave.why) is not may


@pytest.mark.parametrize("hearers", Hearers)
def test_each_kind_of_hearers(hearers: Hearers) -> None:
    """With nothing private in it all may leave; else only where the hearers are known to be fit."""
    way = Way("way", hearers)
    assert may_leave(way, OPEN, [Listener("Mira")]).is_allowed
    stays = hearers in (Hearers.NOBODY, Hearers.SAME)
    assert stays is may_leave(way, HELD, [Listener("Mira")]).is_allowed
    is_known = hearers is not Hearers.ANYBODY
    assert is_known is may_leave(way, HELD, [listener("Tom", [TOM, WORLD])]).is_allowed


def test_nobody_belongs_to_nobody() -> None:
    """Of what belongs to nobody, nobody hears."""
    assert not may_leave(ROOM, frozenset((NOBODY,)), [listener("x", [NOBODY])]).is_allowed


@pytest.mark.parametrize(
    ("spec", "hearers"),
    [
        (ToolSpec("say", "", {}), Hearers.ROOM),
        (ToolSpec("say", "", {}, heard_by="nobody"), Hearers.ROOM),
        (ToolSpec("wiki__ask", "", {}, heard_by="anybody"), Hearers.ANYBODY),
        (ToolSpec("wiki__ask", "", {}, heard_by="nobody"), Hearers.NOBODY),
        (ToolSpec("dig", "", {}, ToolCategory.DANGEROUS), Hearers.ANYBODY),
        (ToolSpec("sing", "", {}, ToolCategory.TERMINAL), Hearers.ANYBODY),
        (ToolSpec("fetch", "", {}, ToolCategory.ASYNC_REQUIRED), Hearers.ANYBODY),
        (ToolSpec("weigh", "", {}), Hearers.NOBODY),
    ],
)
def test_every_tool_is_a_way(spec: ToolSpec, hearers: Hearers) -> None:
    """Ours as the table says, a game's as it says of itself, else by its category."""
    assert hearers is way_of(spec).hearers


def test_the_table_is_whole() -> None:
    """What is left out of a call is named, and a way for each category and declaration is there."""
    assert set(ToolCategory) == set(BY_CATEGORY)
    assert {"nobody", "anybody"} == set(DECLARED)
    for way in WAYS.values():
        assert way.otherwise is not Otherwise.ASIDE or len(way.words) == 1


def test_words_or_their_length() -> None:
    """What is masked tells no more than how long it was."""
    assert "the crown" == words(WAYS["log"], "the crown", OPEN)
    assert "(9 characters)" == words(WAYS["log"], "the crown", HELD)


def test_what_an_event_holds() -> None:
    """A whisper belongs to whoever whispers, a task to the turn that gave it."""
    alone = make_event(source="whisper", person="*#3")
    assert HELD == alone.held
    assert OPEN == make_event(source="say", person="*#3").held
    assert OPEN == make_event(kind=OWN, source="whisper", person="").held
    task = make_event(kind=TASK, source="whisper", person="*#3")
    assert OPEN == task.held
    assert HELD == make_event(kind=TASK, source="whisper", audience=(TOM, WORLD)).held


def test_a_turn_is_as_private_as_what_it_holds() -> None:
    """It holds more and more; what is kept of a task or a call by hand is private besides."""
    turn = Turn(1, (make_event(source="say", person="*#3"),))
    assert (False, OPEN) == (turn.is_private, turn.kept_audiences)
    turn.hold(WORLD, "room:object-2")
    assert not turn.is_private
    turn.hold(TOM)
    turn.hold(GUILD)
    assert (True, {TOM, GUILD}) == (turn.is_private, turn.held)
    apart = Turn(1, (make_event(source="whisper", person="*#3"),), is_apart=True)
    assert (True, OPEN, HELD) == (apart.is_private, apart.held, apart.kept_audiences)
    assert {NOBODY} == Turn(1, (), is_apart=True).kept_audiences


def _call(number: str, name: str, words_of_it: str) -> Message:
    function = {"name": name, "arguments": f'{{"message": "{words_of_it}"}}'}
    return {"id": number, "type": "function", "function": function}


def _reply(*calls: Message) -> list[Message]:
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": '{"success": true}'}
        for call in calls
    ]
    return [{"role": "assistant", "content": None, "tool_calls": list(calls)}, *results]


class TestHoleA5:
    """What was said to one alone is that one's, in whatever talk it was said."""

    SAID = [
        {"role": "user", "content": "hello"},
        *_reply(_call("1", "say", "good day"), _call("2", "whisper", "the crown")),
        *_reply(_call("3", "look", "")),
        *_reply(_call("4", "page", "to nobody")),
    ]

    def test_hole_a5_a_call_has_the_audience_of_its_target(self) -> None:
        """Mira was whispered to: only a turn of hers knows; what reached nobody is nobody's."""
        kept = split_private_calls(self.SAID, {"2": "*#4"})
        assert "the crown" in str(visible_history(kept, "*#4"))
        for person in ("", "*#3"):
            known = visible_history(kept, person)
            assert "the crown" not in str(known)
            assert "good day" in str(known)
        assert "to nobody" not in str(kept)
        assert "to nobody" in str(visible_history(split_private_calls(self.SAID, {}, "*#3"), "*#3"))

    def test_each_call_keeps_its_result(self) -> None:
        """No service takes a call without its result, or the other way round."""
        for person in ("", "*#3", "*#4"):
            known = visible_history(split_private_calls(self.SAID, {"2": "*#4"}), person)
            calls = [call["id"] for m in known for call in m.get("tool_calls", ())]
            assert calls == [m["tool_call_id"] for m in known if m["role"] == "tool"]

    def test_a_talk_without_asides_is_as_it_was(self) -> None:
        """And a call whose result is not there yet stays a call."""
        said = [*_reply(_call("1", "say", "x")), *_reply(_call("3", "look", ""))]
        assert said == split_private_calls(said, {})
        assert 1 == len(split_private_calls(_reply(_call("2", "whisper", "x"))[:1], {"2": "*#4"}))

    def test_whoever_reads_the_last_act_reads_no_words_to_others(self) -> None:
        """That she whispered is told, and what only to whom."""
        said = _reply(_call("2", "whisper", "the crown"))
        kept = split_private_calls(said, {"2": "*#4"})
        assert [{PRIVATE_TO: "*#4"}] * 2 == [{PRIVATE_TO: m[PRIVATE_TO]} for m in kept]
        assert "whisper" == last_act(kept, "*#3")
        assert 'whisper "the crown"' == last_act(kept, "*#4")


@pytest.mark.parametrize(
    ("arguments", "carries"),
    [
        ({}, False),
        ({"loud": True, "how": None}, False),
        ({"how": "slowly"}, False),
        ({"how": "as the crown says"}, True),
        ({"code": 4711}, True),
        ({"list": ["slowly"]}, True),
        ({"crown": True}, True),
    ],
)
def test_a_call_of_choices_carries_no_words(arguments: dict[str, object], carries: bool) -> None:
    """Neither yes nor one of a list is a word; a number may be, and a name of its own."""
    how = {"type": "string", "enum": ["slowly", "fast"]}
    names = {"loud": {}, "how": how, "code": {}, "list": {}}
    assert carries is carries_words(ToolSpec("dig", "", {"properties": names}), arguments)


def test_what_is_kept_of_a_turn() -> None:
    """With the marks of whose it is; of a private one of nobody's it is nothing."""
    said = [{"role": "user", "content": "hello"}, *_reply(_call("2", "whisper", "the crown"))]
    assert [] == history_entries(said, "", {}, is_private=True)
    private = history_entries(said, "*#3", {"2": "*#3"}, is_private=True)
    assert said == visible_history(private, "*#3")
    assert [] == visible_history(private, "")
    aloud = history_entries(said, "*#3", {"2": "*#4"}, is_private=False)
    assert said[:1] == visible_history(aloud, "*#3")
    assert said == visible_history(aloud, "*#4")


def test_hole_a8_a_call_holds_what_one_audience_knows() -> None:
    """The first entry's, as many as go into one call."""
    entries = [Recollection(str(n), "journal", "", (TOM, MIRA)[n % 2]) for n in range(6)]
    assert ["0", "2"] == [entry.key for entry in of_one_audience(entries, 2)]
    assert [] == of_one_audience([], 2)
