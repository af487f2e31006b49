"""The end of a loop, and the calls that may follow one another in a reply."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.react import (
    FAILURES,
    Done,
    Stop,
    StopReason,
    objection,
    reason_of,
    repetition,
)
from evennia_ai.core.turn.toolspec import ToolCall, ToolCategory, ToolResult
from tests.core.samples import make_spec

SPECS = {
    name: make_spec(name, {}, (), category)
    for name, category in (
        ("say", ToolCategory.TERMINAL),
        ("look", ToolCategory.SAFE_CHAIN),
        ("dig", ToolCategory.DANGEROUS),
        ("store", ToolCategory.ASYNC_REQUIRED),
        ("noop", ToolCategory.SAFE_CHAIN),
    )
}


def done(words: str) -> list[Done]:
    """Calls and their results: "look say!" is a look that worked, then a say that failed."""
    return [
        Done(
            ToolCall("c", word.rstrip("!")),
            SPECS.get(word.rstrip("!")),
            ToolResult(not word.endswith("!"), "so it went"),
        )
        for word in words.split()
    ]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        pytest.param(None, "look", id="a look goes on"),
        pytest.param(None, "look!", id="a failed look goes on"),
        pytest.param("terminal_tool", "say", id="speech ends it"),
        pytest.param(None, "say!", id="failed speech may be corrected"),
        pytest.param("dangerous_tool", "dig", id="a change of the world ends it"),
        pytest.param(None, "dig!", id="a failed change may be corrected"),
        pytest.param(None, "store", id="waiting for something goes on"),
        pytest.param("noop", "noop", id="nothing to do ends it"),
        pytest.param("noop", "noop!", id="nothing to do ends it at any rate"),
        pytest.param(None, "fly!", id="a tool that does not exist"),
        pytest.param("terminal_tool", "look say", id="the last one decides"),
        pytest.param("terminal_tool", "look! say", id="a failed look beside speech"),
        pytest.param(None, "say look", id="what is looked up is meant to be seen"),
        pytest.param("dangerous_tool", "say dig", id="words, then the act"),
        pytest.param("dangerous_tool", "dig say!", id="the act ends it"),
        pytest.param(None, "say dig!", id="an act that failed is to be told"),
    ],
)
def test_why_a_reply_ends_the_loop(reason: str | None, words: str) -> None:
    assert reason == reason_of(done(words))


def test_speaking_need_not_end_it() -> None:
    assert [None, "dangerous_tool", "noop"] == [
        reason_of(done(words), terminal_ends=False) for words in ("say", "dig", "noop")
    ]


@pytest.mark.parametrize(
    ("told", "name", "before"),
    [
        pytest.param("", "say", "", id="the first"),
        pytest.param("", "say", "look say", id="after what worked"),
        pytest.param("nothing follows dig in one turn", "look", "dig", id="after an act"),
        pytest.param("nothing follows noop in one turn", "say", "look noop", id="after a noop"),
        pytest.param("a call before it failed", "say", "dig!", id="after an act that failed"),
        pytest.param("a call before it failed", "dig", "look!", id="an act after a failed look"),
        pytest.param("", "look", "say!", id="a look after anything"),
        pytest.param("", "fly", "say!", id="what does not exist is for the gate"),
    ],
)
def test_what_may_follow(told: str, name: str, before: str) -> None:
    """A call is refused where it rests on a result that the model could not know yet."""
    text = objection(ToolCall("c", name), SPECS.get(name), done(before))
    assert told in text
    assert bool(told) is bool(text)


@pytest.mark.parametrize(
    ("is_repeated", "name", "before"),
    [
        pytest.param(True, "say", "say", id="the same words"),
        pytest.param(False, "say", "say!", id="they were not said"),
        pytest.param(False, "look", "look", id="nobody notices a look"),
        pytest.param(False, "fly", "fly", id="no such tool"),
        pytest.param(False, "say", "dig", id="something else"),
    ],
)
def test_nothing_noticed_happens_twice(is_repeated: bool, name: str, before: str) -> None:
    """An equal call of the same reply gets the result of the first."""
    repeat = repetition(ToolCall("c9", name), SPECS.get(name), done(before))
    assert is_repeated is (repeat is not None)


def test_other_arguments_are_another_call() -> None:
    calls = done("say")
    other = replace(calls[0].call, arguments={"message": "Hello"})
    assert repetition(other, SPECS["say"], calls) is None


WORDS = st.lists(st.sampled_from(["look", "look!", "say", "say!", "dig", "dig!", "fly!", "noop"]))


@given(st.lists(st.sampled_from(["look!", "say!", "dig!", "fly!"]), min_size=1))
def test_a_failure_alone_never_ends_it(words: list[str]) -> None:
    assert reason_of(done(" ".join(words))) is None


@given(WORDS)
def test_at_most_one_act(words: list[str]) -> None:
    ran: list[Done] = []
    for item in done(" ".join(words)):
        if not objection(item.call, item.spec, ran):
            ran.append(item)
    acts = [item for item in ran if item.call.name == "dig" and item.result.success]
    assert len(acts) <= 1
    assert not acts or ran[-1] is acts[0]


def test_every_ending_has_a_row() -> None:
    assert 10 == len(StopReason)
    assert all(reason.text for reason in StopReason)


@pytest.mark.parametrize(
    ("is_failure", "reason"),
    [
        pytest.param(False, StopReason.NOOP, id="silence by choice"),
        pytest.param(False, StopReason.TERMINAL_TOOL, id="an answer"),
        pytest.param(False, StopReason.DANGEROUS_TOOL, id="an act"),
        pytest.param(True, StopReason.CRITICAL_TOKENS, id="no room"),
        pytest.param(True, StopReason.MAX_ITERATIONS, id="no steps"),
        pytest.param(True, StopReason.LLM_ERROR, id="no model"),
        pytest.param(True, StopReason.WRONG_SETTING, id="no price"),
        pytest.param(True, StopReason.PARSE_ERROR, id="no sense"),
        pytest.param(True, StopReason.GAME_ERROR, id="no game"),
    ],
)
def test_whoever_waits_is_told_of_failures(is_failure: bool, reason: StopReason) -> None:
    assert is_failure is Stop(reason).is_failure


@pytest.mark.parametrize("reason", FAILURES)
def test_a_failure_is_told_in_first_and_third_person(reason: StopReason) -> None:
    """Staff read "Ada could not answer: ...", whoever asks her why "I could not answer; ..."."""
    assert re.search(r"\b(?:its|my)\b", reason.text) is None
