"""A few of the ways in which a model misbehaves, over real servers and a real client.

The whole table is in tests/shell/misbehaviour.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.acceptance import acts, complaints
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED
from tests.journeys.lines import COOLING, FAILURE, whisper_of
from tests.journeys.staging import quiet_log, run

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log")
HISTORY = (
    "import json\nfrom evennia_ai.runtime import state\n"
    "told = json.dumps(state.read(ada, 'conversation_history')).encode().hex()"
)
TOO_LONG = {
    "error": {
        "message": "This model's maximum context length is 100 tokens.",
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }
}


def whisper(message: str) -> dict[str, Any]:
    return {"tool": "whisper", "arguments": {"target": "Tom", "message": message}}


LOOK: dict[str, Any] = {"tool": "look", "arguments": {}}
LOST: dict[str, Any] = {"tool": "look", "arguments": {"target": "the moon"}}


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Settings without rate limits, and without questions at limits."""
    return {**UNHURRIED, "EVENNIA_AI_SAFETY_CONFIG": {"on_limit": {"mode": "unattended"}}}


@pytest.fixture(autouse=True)
def anew(admin: Player) -> Iterator[None]:
    """A conversation of its own for each test."""
    admin.ask("assistant emergency clear ada", "Ada")
    run(admin, "operations.reset_history(ada)")
    yield
    run(admin, "from evennia_ai.runtime import services\nservices.pool().breakers.reset_all()")


def conversation(owner: Player) -> list[dict[str, Any]]:
    """The stored history, which a service would accept."""
    history: list[dict[str, Any]] = json.loads(bytes.fromhex("".join(run(owner, HISTORY).split())))
    for message in history:
        message.pop("private_to", None)
    assert [] == complaints(history)
    return history


@pytest.mark.parametrize(
    ("answers", "heard", "kept"),
    [
        pytest.param([{"calls": [LOOK] * 500}, {"calls": [whisper("Enough.")]}], ["Enough."],
                     "look+look+look+look whisper", id="500 calls in one reply"),
        pytest.param([{"calls": [LOOK, whisper("A room."), whisper("A room.")]}], ["A room."],
                     "look+whisper+whisper", id="the same whisper twice"),
        pytest.param([{"calls": [LOST, whisper("I see it.")]}, {"calls": [whisper("No moon.")]}],
                     ["No moon."], "look!+whisper! whisper", id="speech after what failed"),
        pytest.param(
            [{"calls": [{"tool": "whisper", "arguments": '"{}"'}]}, {"calls": [whisper("So.")]}],
            ["So."],
            "whisper! whisper",
            id="JSON in a string",
        ),
        pytest.param(
            [
                {
                    "content": '<tool_call>{"name": "whisper", "arguments": {"target": "Tom", '
                    '"message": "In tags."}}</tool_call>'
                }
            ],
            ["In tags."],
            "whisper",
            id="a call in tags",
        ),
        pytest.param([{"calls": [whisper("One.")], "think": True}], ["One."], "whisper",
                     id="thoughts"),
    ],
)  # fmt: skip
def test_it_ends_well(
    enter: Enter,
    admin: Player,
    model: FakeModel,
    answers: list[dict[str, Any]],
    heard: list[str],
    kept: str,
) -> None:
    """The player reads the intended words and nothing else, and the next question works."""
    tom = enter("Tom")
    model.queue(*answers)
    tom.send("whisper ada = hello?")
    for words in heard:
        tom.expect(rf'Ada whispers: "{words}"')
    expect_well(tom, model)
    assert len(heard) + 1 == tom.count("Ada whispers")
    assert FAILURE not in tom.transcript
    first, *_ = turns(conversation(admin))
    assert kept == acts(first)


@pytest.mark.parametrize(
    ("usual", "cause", "calls", "heard"),
    [
        pytest.param({"content": " "}, "parse_error", 1, FAILURE, id="only blanks"),
        pytest.param({"content": "<think>Tom?"}, "parse_error", 1, FAILURE,
                     id="thoughts without an end"),
        pytest.param({"calls": [LOOK]}, "max_iterations", 6, FAILURE, id="looks for ever"),
        pytest.param({"calls": [{"tool": "fly", "arguments": {}}]}, "max_iterations", 4, COOLING,
                     id="an unknown tool for ever"),
        pytest.param({"kind": "status", "status": 400, "body": json.dumps(TOO_LONG)},
                     "critical_tokens", 1, FAILURE, id="a prompt that is too long"),
    ],
)  # fmt: skip
def test_it_is_told(
    enter: Enter,
    admin: Player,
    model: FakeModel,
    usual: dict[str, Any],
    cause: str,
    calls: int,
    heard: str,
) -> None:
    """The player reads one line in character, staff the stop reason; the history stays empty."""
    tom = enter("Tom")
    model.behave(**usual)
    tom.ask("whisper ada = hello?", re.escape(heard))
    admin.expect(rf"(?s)\[assistant\] Ada could not answer Tom.*?{cause}, ")
    assert calls == model.count_calls()
    assert [] == conversation(admin)
    model.reset()
    # A mistake that the model repeats makes Tom wait.
    admin.ask("assistant emergency clear ada", "Ada")
    expect_well(tom, model)
    assert 1 == tom.count(heard)


def expect_well(tom: Player, model: FakeModel) -> None:
    tom.ask("whisper ada = and now?", whisper_of("and now?"))


def turns(history: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """A conversation in parts that begin with a user message."""
    starts = [place for place, message in enumerate(history) if message["role"] == "user"]
    return [history[a:b] for a, b in zip(starts, [*starts[1:], len(history)], strict=True)]
