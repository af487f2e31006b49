"""The common beginning of successive prompts, which a provider's cache finds again."""

import json

from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.turn.conversation import (
    Message,
    call_message,
    result_message,
    turn_text,
    user_message,
)
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.prompts import PromptInputs, compose
from evennia_ai.prompts.components import read_components
from tests.core.samples import ANY_TEXT, make_event, make_spec
from tests.prompts.support import make_inputs, messages_of

SPECS = {name: make_spec(name, {"message": "string"}) for name in ("say", "whisper", "look")}
OWN = read_components(
    {
        100: {"key": "world", "content": "The town of Brom, {name}'s home."},
        4500: {"key": "here", "content": "You are in {location} with {present}, at {time}."},
    },
    "here",
)
OVERHEARD = st.builds(
    Overheard,
    source=st.sampled_from(["say", "pose", "channel"]),
    person=st.just("*#4"),
    name=st.just("Mia"),
    place=st.just(""),
    body=ANY_TEXT,
    trust=st.just(0.4),
)
TURNS = st.tuples(ANY_TEXT, ANY_TEXT, st.lists(OVERHEARD, max_size=2))


def _begin(body: str, overheard: list[Overheard], history: list[Message]) -> Turn:
    events = (make_event(body=body),)
    heard = user_message(turn_text(events, overheard, shows_trust=True))
    return Turn(0, events, tuple(overheard), list(history), [heard])


def _answer(turn: Turn, number: int, words: str) -> None:
    call = ToolCall(f"c{number}", "say", {"message": words})
    turn.said += [call_message(call), result_message(call, ToolResult(True, "said"))]


def _inputs(number: int, tool_mode: str = "native", **changes: object) -> PromptInputs:
    """The same assistant at another time: other people, other goals and other memories."""
    facts = {"location": "the hall", "present": f"Mia {number}", "time": f"{number}:00"}
    return make_inputs(
        **{
            "text": "You keep books.",
            "tool_mode": tool_mode,
            "components": OWN,
            "goals": (f"goal {number}",),
            "notes": {"memories": f"memory {number}", "entities": f"profile {number}"},
            "facts": lambda: facts,
            **changes,
        }
    )


@given(st.lists(TURNS, min_size=2, max_size=5), st.sampled_from(["native", "json"]))
def test_a_turn_begins_as_the_one_before(
    turns: list[tuple[str, str, list[Overheard]]], tool_mode: str
) -> None:
    """Up to the end of the earlier history, whatever was said, wanted or recalled since."""
    history: list[Message] = []
    before: list[Message] = []
    for number, (body, words, overheard) in enumerate(turns):
        turn = _begin(body, overheard, history)
        messages = messages_of(_inputs(number, tool_mode), turn, SPECS)
        assert before == messages[: len(before)]
        before = messages[:-1]
        _answer(turn, number, words)
        history += turn.said


@given(st.lists(TURNS, min_size=1, max_size=3), st.integers(1, 3))
def test_a_step_begins_as_the_one_before(
    turns: list[tuple[str, str, list[Overheard]]], steps: int
) -> None:
    """Within a turn the whole of a prompt is the beginning of the next."""
    body, words, overheard = turns[0]
    history = [message for other, *_ in turns[1:] for message in _begin(other, [], []).said]
    turn, inputs = _begin(body, overheard, history), _inputs(1)
    before: list[Message] = []
    for number in range(steps):
        messages = messages_of(inputs, turn, SPECS)
        assert before == messages[: len(before)]
        before = messages
        _answer(turn, number, words)


def _common_share(one: list[Message], other: list[Message]) -> float:
    """The share of a prompt, in characters, that was in the one before."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return len(json.dumps(other[:same])) / len(json.dumps(other))


def _talk(turns: int, **changes: object) -> list[float]:
    """The common share of every prompt of a conversation but the first."""
    history: list[Message] = []
    before: list[Message] = []
    shares = []
    for number in range(turns):
        event: Event = make_event(body=f"question {number}: where is book {number * 7}?")
        heard = user_message(turn_text((event,), (), shows_trust=True))
        turn = Turn(0, (event,), (), list(history), [heard])
        messages = compose(_inputs(number, **changes), turn, SPECS).messages
        if before:
            shares.append(_common_share(before, messages))
        before = messages
        _answer(turn, number, f"Book {number * 7} stands on the shelf behind you, to the left.")
        history += turn.said
    return shares


def test_most_of_a_talk_is_known_already() -> None:
    """On average seven eighths of a prompt were in the one before."""
    shares = _talk(20)
    assert 19 == len(shares)
    assert sorted(shares) == shares
    assert 0.65 < shares[0]
    assert 0.85 < sum(shares) / len(shares)


def test_a_talk_that_is_cut_is_cut_seldom() -> None:
    """In a small context the history must not begin elsewhere in every turn."""
    shares = _talk(60, max_tokens=4000)
    fresh = [share for share in shares if share < 0.6]
    assert len(fresh) <= 8
    assert 0.8 < sum(shares) / len(shares)
