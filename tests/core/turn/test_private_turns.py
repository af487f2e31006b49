"""Private turns: the parts of a history that each person's turns are shown."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.conversation import (
    OF,
    PRIVATE_TO,
    UNKEPT,
    Message,
    call_message,
    holds_private,
    marked,
    marked_as_summary_of,
    marked_private,
    origin_of,
    result_message,
    trim,
    user_message,
    visible_history,
)
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult

TOM, MIA, EVE = "*#3", "*#4", "#9"


@dataclass(frozen=True)
class Kept:
    """A turn to be kept: its person, whether it is private, and its number of calls."""

    person: str
    is_private: bool
    calls: int
    number: int = 0

    @property
    def secret(self) -> str:
        """Words that are in every message of the turn, and in no other turn."""
        return f"<{self.number}>"

    def said(self) -> list[Message]:
        messages = [user_message(f"heard {self.secret}")]
        for step in range(self.calls):
            call = ToolCall(f"c{self.number}.{step}", "say", {"message": self.secret})
            messages += [call_message(call), result_message(call, ToolResult(True, self.secret))]
        return messages

    def stored(self) -> list[Message]:
        messages = self.said()
        return marked_private(messages, self.person) if self.is_private else messages

    def may_be_known_to(self, person: str) -> bool:
        return not self.is_private or self.person == person


def history_of(turns: list[Kept]) -> list[Message]:
    return [message for turn in turns for message in turn.stored()]


def said_to(turns: list[Kept], person: str) -> list[Message]:
    return [message for turn in turns if turn.may_be_known_to(person) for message in turn.said()]


HISTORIES = st.lists(
    st.builds(Kept, st.sampled_from([TOM, MIA, EVE]), st.booleans(), st.integers(0, 3)), max_size=8
).map(lambda turns: [Kept(t.person, t.is_private, t.calls, n) for n, t in enumerate(turns)])
PEOPLE = st.sampled_from([TOM, MIA, EVE, "", "*#33"])


@given(HISTORIES, PEOPLE)
def test_a_history_holds_private_words_of_whoever_said_some(turns: list[Kept], person: str) -> None:
    is_theirs = any(turn.is_private and turn.person == person for turn in turns)
    assert is_theirs is holds_private(history_of(turns), person)


@pytest.mark.parametrize(
    ("known", "person"),
    [
        pytest.param("open, whisper, reply", TOM, id="who whispered"),
        pytest.param("open, page", MIA, id="who paged"),
        pytest.param("open", EVE, id="who did neither"),
        pytest.param("open", "", id="nobody"),
        pytest.param("open", "*#33", id="an id that is like another"),
    ],
)
def test_known_to(known: str, person: str) -> None:
    history = [
        user_message("open"),
        *marked_private([user_message("whisper")], TOM),
        *marked_private([user_message("page")], MIA),
        *marked_private([user_message("reply")], TOM),
    ]
    assert known == ", ".join(message["content"] for message in visible_history(history, person))


@given(HISTORIES, PEOPLE)
def test_nobody_learns_what_another_whispered(turns: list[Kept], person: str) -> None:
    """The turn's own person and public turns lose nothing."""
    history = history_of(turns)
    known = visible_history(history, person)
    text = json.dumps(known)
    for turn in turns:
        assert turn.may_be_known_to(person) is (turn.secret in text)
    assert said_to(turns, person) == known
    public = [message for message in history if PRIVATE_TO not in message]
    assert public == [message for message in known if message in public]


@given(HISTORIES, PEOPLE, st.integers(0, 20))
def test_no_call_is_parted_from_its_result(turns: list[Kept], person: str, limit: int) -> None:
    """A provider refuses a conversation in which a call has no result, or the reverse."""
    known = visible_history(trim(history_of(turns), limit), person)
    for first, second in zip([None, *known], [*known, None], strict=True):
        calls = (first or {}).get("tool_calls")
        answers = (second or {}).get("tool_call_id")
        assert (calls[0]["id"] if calls else None) == answers
    assert "user" == (known[0]["role"] if known else "user")


@given(HISTORIES, PEOPLE)
def test_the_mark_is_no_part_of_a_prompt(turns: list[Kept], person: str) -> None:
    assert not [
        message for message in visible_history(history_of(turns), person) if PRIVATE_TO in message
    ]


@given(HISTORIES, PEOPLE)
def test_it_survives_storing(turns: list[Kept], person: str) -> None:
    stored = json.loads(json.dumps(history_of(turns)))
    assert visible_history(history_of(turns), person) == visible_history(stored, person)


def test_the_history_itself_is_left_alone() -> None:
    messages = [user_message("whisper")]
    history = marked_private(messages, TOM)
    visible_history(history, TOM)[0]["content"] = "changed"
    assert [user_message("whisper")] == messages
    assert [{**user_message("whisper"), PRIVATE_TO: TOM}] == history


def test_nobody_is_no_person() -> None:
    """An unknown whisperer must not match another unknown person."""
    assert [] == visible_history(marked_private([user_message("a whisper")], ""), "")


@pytest.mark.parametrize(
    ("person", "people", "has_unkept"),
    [
        pytest.param(TOM, {EVE, TOM}, True, id="who whispered where nothing is kept"),
        pytest.param(MIA, {EVE, MIA}, False, id="who paged under a mask"),
        pytest.param("", {EVE}, False, id="nobody"),
    ],
)
def test_origin_of(person: str, people: set[str], has_unkept: bool) -> None:
    """The people are those of the visible turns, without their masks."""
    history = [
        user_message("of nobody"),
        *marked([user_message("open")], OF, EVE),
        *marked(marked_private([user_message("whisper")], TOM), UNKEPT, True),
        *marked_private([user_message("page")], f"{MIA}~1a2b3c4d"),
        *marked_private([user_message("page")], MIA),
    ]
    assert (people, has_unkept) == origin_of(history, person)


def test_a_summary_is_of_all_whom_it_sums_up() -> None:
    """Also one that sums up an earlier summary; what may not be kept stays marked."""
    message = marked(marked([user_message("open")], OF, EVE), UNKEPT, True)
    first = marked_as_summary_of(user_message("Eve came."), message)
    later = marked([user_message("open")], OF, f"{MIA}~1a2b3c4d")
    second = marked_as_summary_of(user_message("Eve and somebody came."), [first, *later])
    assert ({EVE, MIA}, True) == origin_of([second], TOM)
    assert [user_message("Eve and somebody came.")] == visible_history([second], TOM)


def test_a_turn_of_which_all_is_kept_has_no_mark() -> None:
    messages = [user_message("open")]
    assert messages == marked(messages, UNKEPT, False)
    assert (frozenset(), False) == origin_of(messages, TOM)
