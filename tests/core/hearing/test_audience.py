"""Audiences: the table of ways in which words leave, and the rule for all of them."""

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
    BESIDE,
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
    assert {TOM, GUILD, NOBODY} == confined(
        [WORLD, "room:object-2", "channel:x", TOM, GUILD, NOBODY]
    )


@given(AUDIENCES, st.lists(AUDIENCES))
def test_all_who_hear_it_may_know_all_of_it(
    held: frozenset[str], crowd: list[frozenset[str]]
) -> None:
    listeners = [listener(f"being {n}", audiences) for n, audiences in enumerate(crowd)]
    may = all(held <= each.audiences for each in listeners)
    leave = may_leave(ROOM, held, listeners)
    assert leave.is_allowed is may
    assert bool(leave.why) is not may


@pytest.mark.parametrize("hearers", Hearers)
def test_each_kind_of_hearers(hearers: Hearers) -> None:
    """Private words leave only where all hearers are known and may know them."""
    way = Way("way", hearers)
    assert may_leave(way, OPEN, [Listener("Mira")]).is_allowed
    stays = hearers in (Hearers.NOBODY, Hearers.SAME)
    assert stays is may_leave(way, HELD, [Listener("Mira")]).is_allowed
    is_known = hearers is not Hearers.ANYBODY
    assert is_known is may_leave(way, HELD, [listener("Tom", [TOM, WORLD])]).is_allowed


def test_nobody_belongs_to_nobody() -> None:
    """Not even a listener with the audience of nobody may hear such words."""
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
        (ToolSpec("staff", "", {}), Hearers.NOBODY),
        (ToolSpec("question", "", {}, heard_by="anybody"), Hearers.ANYBODY),
    ],
)
def test_every_tool_is_a_way(spec: ToolSpec, hearers: Hearers) -> None:
    """The package's tools follow the table, a game's their declaration, else their category."""
    assert hearers is way_of(spec).hearers


def test_the_table_is_whole() -> None:
    assert set(ToolCategory) == set(BY_CATEGORY)
    assert {"nobody", "anybody"} == set(DECLARED)
    for way in WAYS.values():
        assert way.otherwise is not Otherwise.ASIDE or len(way.words) == 1


def test_words_or_their_length() -> None:
    assert "the crown" == words(WAYS["log"], "the crown", OPEN)
    assert "(9 characters)" == words(WAYS["log"], "the crown", HELD)


def test_what_an_event_holds() -> None:
    """A whisper belongs to the person who whispers; a task belongs to the turn that gave it."""
    alone = make_event(source="whisper", person="*#3")
    assert HELD == alone.held
    assert OPEN == make_event(source="say", person="*#3").held
    assert OPEN == make_event(kind=OWN, source="whisper", person="").held
    task = make_event(kind=TASK, source="whisper", person="*#3")
    assert OPEN == task.held
    assert HELD == make_event(kind=TASK, source="whisper", audience=(TOM, WORLD)).held


def test_a_turn_is_as_private_as_what_it_holds() -> None:
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
    """Words to one person alone stay that person's, in whatever talk they were said."""

    SAID = [
        {"role": "user", "content": "hello"},
        *_reply(_call("1", "say", "good day"), _call("2", "whisper", "the crown")),
        *_reply(_call("3", "look", "")),
        *_reply(_call("4", "page", "to nobody")),
    ]

    def test_hole_a5_a_call_has_the_audience_of_its_target(self) -> None:
        """Only Mira's turns show her the whisper; words that reached nobody are never shown."""
        history = split_private_calls(self.SAID, {"2": "*#4"})
        assert "the crown" in str(visible_history(history, "*#4"))
        for person in ("", "*#3"):
            known = visible_history(history, person)
            assert "the crown" not in str(known)
            assert "good day" in str(known)
        assert "to nobody" not in str(history)
        assert "to nobody" in str(visible_history(split_private_calls(self.SAID, {}, "*#3"), "*#3"))

    def test_each_call_keeps_its_result(self) -> None:
        """No service accepts a call without its result, or the reverse."""
        for person in ("", "*#3", "*#4"):
            known = visible_history(split_private_calls(self.SAID, {"2": "*#4"}), person)
            calls = [call["id"] for m in known for call in m.get("tool_calls", ())]
            assert calls == [m["tool_call_id"] for m in known if m["role"] == "tool"]

    def test_a_talk_without_asides_is_as_it_was(self) -> None:
        talk = [*_reply(_call("1", "say", "x")), *_reply(_call("3", "look", ""))]
        assert talk == split_private_calls(talk, {})
        assert 1 == len(split_private_calls(_reply(_call("2", "whisper", "x"))[:1], {"2": "*#4"}))

    def test_what_came_beside_a_call_is_for_its_turn_only(self) -> None:
        """Thoughts of a model are neither stored nor told to another turn."""
        talk = _reply(_call("1", "say", "x"))
        asked = {**talk[0], BESIDE: {"gpt": {"reasoning_content": "hm", "tokens": 1}}}
        assert talk == split_private_calls([asked, *talk[1:]], {})
        assert "hm" not in str(history_entries([asked, *talk[1:]], "*#3", {}, is_private=False))

    def test_whoever_reads_the_last_act_reads_no_words_to_others(self) -> None:
        """Others see that she whispered, but not the words."""
        talk = _reply(_call("2", "whisper", "the crown"))
        history = split_private_calls(talk, {"2": "*#4"})
        assert [{PRIVATE_TO: "*#4"}] * 2 == [{PRIVATE_TO: m[PRIVATE_TO]} for m in history]
        assert "whisper" == last_act(history, "*#3")
        assert 'whisper "the crown"' == last_act(history, "*#4")


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
        ({"any": "slowly"}, True),
    ],
)
def test_a_call_of_choices_carries_no_words(arguments: dict[str, object], carries: bool) -> None:
    """A number may carry a secret, and so may an invented argument name."""
    how = {"type": "string", "enum": ["slowly", "fast"]}
    names = {"loud": {}, "how": how, "code": {}, "list": {}, "any": True}
    assert carries is carries_words(ToolSpec("dig", "", {"properties": names}), arguments)


def test_what_is_kept_of_a_turn() -> None:
    turn = [{"role": "user", "content": "hello"}, *_reply(_call("2", "whisper", "the crown"))]
    assert [] == history_entries(turn, "", {}, is_private=True)
    private = history_entries(turn, "*#3", {"2": "*#3"}, is_private=True)
    assert turn == visible_history(private, "*#3")
    assert [] == visible_history(private, "")
    aloud = history_entries(turn, "*#3", {"2": "*#4"}, is_private=False)
    assert turn[:1] == visible_history(aloud, "*#3")
    assert turn == visible_history(aloud, "*#4")


def test_hole_a8_a_call_holds_what_one_audience_knows() -> None:
    """The first entry decides the audience."""
    entries = [Recollection(str(n), "journal", "", (TOM, MIRA)[n % 2]) for n in range(6)]
    assert ["0", "2"] == [entry.key for entry in of_one_audience(entries, 2)]
    assert [] == of_one_audience([], 2)
