"""The size of a prompt: it keeps within the model's context, or says that it cannot."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.turn.conversation import (
    Message,
    call_message,
    result_message,
    turn_text,
    user_message,
)
from evennia_ai.core.turn.tokens import count_messages, count_tool
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.prompts import compose
from tests.core.samples import make_event, make_spec
from tests.prompts.support import EVENT, count, make_inputs

LOOK = make_spec("look", {"target": "string"})
SHORT = {"template": "You are {name}.", "text": "dry"}


def _round(number: int, size: int = 40) -> list[Message]:
    """Something said, a tool call, and its result."""
    call = ToolCall(f"c{number}", "say", {"message": f"{number} " + "b" * size})
    heard = user_message(f"{number} " + "a" * size)
    return [heard, call_message(call), result_message(call, ToolResult(True, "said"))]


def _turn(rounds: int, *, overheard: int = 0, size: int = 40) -> Turn:
    history = [message for number in range(rounds) for message in _round(number, size)]
    heard = tuple(Overheard("say", "*#4", "Mia", "", "x" * 80, 0.4) for _ in range(overheard))
    events = (make_event(),)
    opening = user_message(turn_text(events, heard, shows_trust=True))
    return Turn(epoch=0, events=events, overheard=heard, history=history, said=[opening])


def _specs(number: int = 1) -> dict[str, Any]:
    return {f"look{i}": make_spec(f"look{i}", {"target": "string"}) for i in range(number)}


def test_what_fits_is_whole() -> None:
    turn, specs = _turn(5), _specs(2)
    prompt = compose(make_inputs(**SHORT), turn, specs)
    tools = sum(count_tool(spec, count) for spec in specs.values())
    assert turn.history == prompt.messages[1:-1]
    assert count_messages(prompt.messages, count) + tools == prompt.tokens
    assert 100_000 == prompt.max_tokens


@given(
    rounds=st.integers(0, 40),
    overheard=st.integers(0, 10),
    size=st.integers(0, 400),
    tools=st.integers(0, 3),
    most=st.integers(600, 5000),
)
def test_the_limit_holds_with_room_for_an_answer(
    rounds: int, overheard: int, size: int, tools: int, most: int
) -> None:
    """A quarter, or 1,000 tokens, stays free; only what must be shown may take it."""
    turn, specs = _turn(rounds, overheard=overheard, size=size), _specs(tools)
    prompt = compose(make_inputs(**SHORT, max_tokens=most), turn, specs)
    bare = compose(make_inputs(**SHORT), _turn(0), specs)
    assert prompt.tokens <= max(most - min(most // 4, 1000), bare.tokens)
    starts = [message["role"] for message in prompt.messages[1:2]]
    assert ["user"] == starts


def test_the_newest_is_what_is_kept() -> None:
    """The history is cut at its beginning, just before something said."""
    turn = _turn(30)
    messages = compose(make_inputs(**SHORT, max_tokens=1200), turn, {}).messages[1:-1]
    assert 0 < len(messages) < len(turn.history)
    assert turn.history[-len(messages) :] == messages
    assert "user" == messages[0]["role"]


def test_what_was_overheard_goes_when_all_else_is_gone() -> None:
    """Overheard words go if they do not fit without history, which then takes the room left."""
    turn = _turn(5, overheard=20)
    prompt = compose(make_inputs(**SHORT, max_tokens=200), turn, {})
    expected = 'Tom whispers to you (trust 0.9): "the lamp went out again"'
    assert turn.history[-3:] == prompt.messages[1:-1]
    assert expected == prompt.messages[-1]["content"]
    assert prompt.usage_ratio < 1


def test_overheard_words_stay_where_only_the_talk_is_too_long() -> None:
    """Overheard words belong to this moment, the history does not."""
    prompt = compose(make_inputs(**SHORT, max_tokens=1000), _turn(40, overheard=3), {})
    assert "Meanwhile you noticed:" in prompt.messages[-1]["content"]


def test_what_cannot_fit_says_so() -> None:
    inputs = make_inputs(template="rules " * 600, max_tokens=500)
    prompt = compose(inputs, _turn(3, overheard=2), _specs())
    assert prompt.usage_ratio > 1
    assert 500 == prompt.max_tokens
    assert 2 == len(prompt.messages)


def test_a_context_may_allow_less_than_the_model() -> None:
    """The context's budget is the limit, of which a quarter stays free for the answer."""
    inputs = make_inputs(**SHORT, max_tokens=8000, context=EVENT.changed({"token_budget": 600}))
    prompt = compose(inputs, _turn(40), {})
    assert 600 == prompt.max_tokens
    assert prompt.tokens <= 450


@pytest.mark.parametrize(
    ("shown", "hears"),
    [pytest.param(6, True, id="hears the talk"), pytest.param(0, False, id="does not")],
)
def test_a_model_that_hears_no_history_pays_for_none(shown: int, hears: bool) -> None:
    prompt = compose(make_inputs(**SHORT, hears_history=hears), _turn(2), {})
    assert shown == len(prompt.messages) - 2
    assert count_messages(prompt.messages, count) == prompt.tokens


def test_of_what_was_overheard_the_newest_has_a_tenth() -> None:
    """However much was said meanwhile, history and message keep their room."""
    turn = _turn(1)
    turn.overheard = tuple(
        Overheard("say", "*#4", "Mia", "", f"word {number}", 0.4) for number in range(100)
    )
    turn.said = [user_message(turn_text(turn.events, turn.overheard, shows_trust=True))]
    heard = compose(make_inputs(max_tokens=4000, **SHORT), turn, {}).messages[-1]["content"]
    assert '"word 99"' in heard
    assert '"word 0"' not in heard
    assert count(heard) <= 4000 * 0.1 + count(turn_text(turn.events, shows_trust=True)) + 20
    assert turn_text(turn.events, shows_trust=True) in heard


def test_goals_have_a_tenth_too() -> None:
    """A longer text is cut at the end of a sentence."""
    inputs = make_inputs(max_tokens=4000, goals=("Find the atlas. " * 300,), **SHORT)
    heard = compose(inputs, _turn(1), {}).messages[-1]["content"]
    before = heard.partition("Tom whispers")[0].strip()
    assert before.endswith("Find the atlas.")
    assert count(before) <= 400
