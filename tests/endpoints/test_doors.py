"""Every door to a model: talk, tool calls, errors in the service's own words, and token counts."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest

from evennia_ai.core.turn.conversation import user_message
from evennia_ai.errors import ContextLengthError, ModelError, ModelStatusError
from evennia_ai.llm.check import PROBE, CheckResult, Report
from evennia_ai.llm.endpoints import Endpoint
from tests.endpoints.conftest import Caller, Find
from tests.endpoints.doors import DOORS, KEY, KNOWN, MASTER_KEY, Door

RING = "Ring the bell three times."
CALLS = 120
# Answered calls, at the least, of `CALLS` with five faults in a hundred.
FEWEST_ANSWERED = 114


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    return DOORS[request.param]


def _line(report: Report, name: str) -> CheckResult:
    return next(line for line in report.lines if line.name == name)


def test_check_finds_nothing_wrong(caller: Caller, endpoint_of: Find, door: Door) -> None:
    """All four lines of `assistant check` are good, and none of them shows the key."""
    report = caller.check(endpoint_of(door))
    assert report.ok, report
    assert f"{door.model} is known" == _line(report, "model").text
    assert "work (native)" == _line(report, "tool calls").text
    has_counts = "reports no token usage" not in _line(report, "answers").text
    assert door.counts == has_counts
    assert door.key not in str(report)


def test_a_tool_call_goes_there_and_back(caller: Caller, endpoint_of: Find, door: Door) -> None:
    endpoint = endpoint_of(door)
    first = caller.ask(endpoint, RING, (PROBE,))
    (call,) = first.tool_calls
    assert (PROBE.name, {"times": 3}, "") == (call.name, call.arguments, call.problem)
    messages: list[Any] = [
        user_message(RING),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
            ],
        },
        {"role": "tool", "tool_call_id": call.id, "content": "Three strokes."},
    ]
    assert "It rang." == caller.ask(endpoint, messages, (PROBE,)).content


def test_good_words_beside_a_bad_call_are_kept(
    caller: Caller, endpoint_of: Find, door: Door
) -> None:
    """A call with unreadable arguments is reported as such, and the text beside it is kept."""
    reply = caller.ask(endpoint_of(door), "Ring it badly.", (PROBE,))
    assert "Gladly, at once." == reply.content
    (call,) = reply.tool_calls
    # A proxy that parses the arguments itself passes none on, which the tool's schema refuses.
    assert call.problem or {} == call.arguments


@pytest.mark.parametrize(
    ("words", "words_of_it"),
    [
        pytest.param("It breaks.", "Internal trouble", id="500"),
        pytest.param("It is overloaded.", "Overloaded", id="529"),
    ],
)
def test_trouble_of_the_service_passes(
    caller: Caller, endpoint_of: Find, door: Door, words: str, words_of_it: str
) -> None:
    """An error 5xx is reported in the service's own words, and locks no assistant."""
    with pytest.raises(ModelStatusError, match=words_of_it) as caught:
        caller.ask(endpoint_of(door), words)
    assert caught.value.status >= 500
    assert (True, False) == (caught.value.is_of_service, caught.value.may_lock)


def test_a_prompt_that_is_too_long_is_called_so(
    caller: Caller, endpoint_of: Find, door: Door
) -> None:
    """The error has its own kind through every proxy, and does not blame the service."""
    with pytest.raises(ContextLengthError, match="maximum context length") as caught:
        caller.ask(endpoint_of(door), "This is too long.")
    assert not caught.value.blames_service


def test_a_quota_that_is_used_up_rests(caller: Caller, endpoint_of: Find, door: Door) -> None:
    """A used-up quota is trouble of the service, and locks no assistant."""
    with pytest.raises(ModelStatusError, match="exceeded your current quota") as caught:
        caller.ask(endpoint_of(door), "There is no money.")
    assert (True, False) == (caught.value.is_of_service, caught.value.may_lock)


def test_who_is_told_to_wait_waits(caller: Caller, endpoint_of: Find) -> None:
    """A 429 is waited out within one call, and does not count as a failure."""
    endpoint = endpoint_of(DOORS["aimock"])
    assert "Here I am." == caller.ask(endpoint, "Please slow down.").content
    stats = caller.pool.breaker_of(endpoint).get_stats()
    assert (1, 0) == (stats["total_successes"], stats["total_failures"])


@pytest.mark.parametrize(
    ("model", "key", "words"),
    [
        pytest.param("gpt", "sk-nobody", "401|400", id="the proxy does not know the key"),
        pytest.param("wrong key", MASTER_KEY, "Invalid API key", id="the service does not"),
        pytest.param("nobody there", MASTER_KEY, "Connection error", id="nobody is behind it"),
        pytest.param("never made", MASTER_KEY, "[Ii]nvalid model", id="no such model"),
    ],
)
def test_check_tells_the_true_cause(
    caller: Caller, litellm: str, model: str, key: str, words: str
) -> None:
    """One line quotes the proxy or the service behind it, and never shows the key."""
    report = caller.check(Endpoint("custom", model, f"{litellm}/v1", key))
    (line,) = report.lines
    assert ("answers", False) == (line.name, line.ok)
    assert re.search(words, line.text), line.text
    assert key not in line.text


def test_a_limit_of_the_proxy_is_a_limit(caller: Caller, litellm: str) -> None:
    """The second call within a minute gets a 429, which locks no assistant."""
    endpoint = Endpoint("custom", "one a minute", f"{litellm}/v1", MASTER_KEY)
    assert "Good evening." == caller.ask(endpoint, "Hello.").content
    with pytest.raises(ModelStatusError) as caught:
        caller.ask(endpoint, "Hello again.")
    assert (429, False) == (caught.value.status, caught.value.may_lock)


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_model_without_tools_is_found_out(caller: Caller, llmock: str, mode: str) -> None:
    """The check reports a model that talks but calls no tool, and says what to try."""
    root = f"{llmock}/chatgpt"
    report = caller.check(Endpoint("custom", KNOWN, root, "sk-x", mode))
    assert _line(report, "answers").ok, report
    assert f"{KNOWN} (the endpoint does not list its models)" == _line(report, "model").text
    line = _line(report, "tool calls")
    assert not line.ok
    assert "EVENNIA_AI_TOOL_MODE=json, or another model" in line.text


def test_with_one_fault_in_twenty_answers_almost_all_are_answered(
    caller: Caller, faulty: str
) -> None:
    """Retries absorb random 429s and dropped connections, and the breaker stays closed."""
    endpoint = Endpoint("custom", KNOWN, f"{faulty}/v1", KEY)
    answered = 0
    for _ in range(CALLS):
        with suppress(ModelError):
            answered += "Good evening." == caller.ask(endpoint, "Hello.").content
    assert answered >= FEWEST_ANSWERED
    assert "closed" == caller.pool.breaker_of(endpoint).state
