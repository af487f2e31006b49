"""Entries of the audit log: masking, bounds, and the sentence for each event."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.audit_events import (
    EVENTS,
    LONGEST_EVENT,
    LONGEST_VALUE,
    MASK,
    AuditEvent,
    audit_event,
    bounded,
    kind_of,
    masked,
    sentence_of,
    storable,
)

PACKAGE = Path(__file__).parents[3] / "evennia_ai"
RECORDED = re.compile(r'\b(?:record|audit_event)\(\s*"(\w+)"')


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        pytest.param("api_key", True, id="snake case"),
        pytest.param("apiKey", True, id="camel case"),
        pytest.param("OPENAI_API_KEY", True, id="capitals"),
        pytest.param("api_keys", True, id="several"),
        pytest.param("llm_auth_token", True, id="token"),
        pytest.param("headers.Authorization", True, id="path"),
        pytest.param("X-Session-Cookie", True, id="header"),
        pytest.param("db_password", True, id="password"),
        pytest.param("assistant_key", False, id="name of an assistant"),
        pytest.param("key", False, id="key of a setting"),
        pytest.param("monkey", False, id="a word that ends so"),
        pytest.param("prompt_tokens", False, id="tokens are counted"),
        pytest.param("tokens_per_day", False, id="cap of tokens"),
        pytest.param("tokenizer", False, id="tokenizer"),
        pytest.param("author", False, id="author"),
        pytest.param("", False, id="no name"),
    ],
)
def test_secrets_are_known_by_their_names(name: str, is_secret: bool) -> None:
    """A value whose name looks like a secret's is masked at any depth."""
    expected = MASK if is_secret else "lamp"
    assert expected == masked("lamp", name)
    assert {"a": [{name: expected}]} == masked({"a": ({name: "lamp"},)})
    assert ("", None) == (masked("", name), masked(None, name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("use sk-abcdefghijklmnop now", "use *** now", id="a key of OpenAI"),
        pytest.param("use gsk_abcdefghijklmnop now", "use *** now", id="a key of Groq"),
        pytest.param("use xai-abcdefghijklmnop now", "use *** now", id="a key of xAI"),
        pytest.param("use hf_abcdefghijklmnop now", "use *** now", id="a key of Hugging Face"),
        pytest.param("use AIzaSyabcdefghijklmnopqrs now", "use *** now", id="a key of Google"),
        pytest.param("Authorization: Bearer abcdefgh.x", "Authorization: Bearer ***", id="bearer"),
        pytest.param("http://tom:lamp@host/x", "http://tom:***@host/x", id="address"),
        pytest.param("?api_key=lamp&x=1", "?api_key=***&x=1", id="query"),
        pytest.param("the key is under the mat", "the key is under the mat", id="plain words"),
        pytest.param("3 tokens: a, b", "3 tokens: a, b", id="tokens"),
    ],
)
def test_secrets_are_known_by_their_looks(text: str, expected: str) -> None:
    assert expected == masked(text)
    assert {"error": expected} == storable({"error": text})


@pytest.mark.parametrize(
    "details",
    [
        pytest.param(
            {"key": "llm_auth_token", "old_value": "lamp", "new_value": "x"}, id="setting"
        ),
        pytest.param({"name": "password", "value": "lamp"}, id="attribute"),
        pytest.param({"headers": [{"name": "Cookie", "value": "lamp"}]}, id="header"),
    ],
)
def test_a_value_is_secret_by_the_name_beside_it(details: dict[str, Any]) -> None:
    """A name may stand in one detail and its value in another."""
    assert "lamp" not in str(storable(details))


def test_what_is_long_is_known_by_its_fingerprint() -> None:
    """Length and fingerprint are kept, so that two long values can be compared."""
    short, long = "x" * (LONGEST_VALUE - 2), "x" * LONGEST_VALUE
    assert short == bounded(short)
    assert LONGEST_VALUE + 2 == bounded(long)["characters"]
    assert bounded(long) == bounded(long)
    assert bounded(long) != bounded("y" * LONGEST_VALUE)
    many = storable({str(number): short for number in range(LONGEST_EVENT // LONGEST_VALUE + 2)})
    assert ["too_long"] == list(many)


def test_odd_values_become_plain() -> None:
    loop: list[Any] = []
    loop.append(loop)
    plain = storable({"a": {3: {1}}, "b": float("nan"), "c": "\ud800", "d": loop, "e": Path("x")})
    assert {"a": {"3": [1]}, "b": "NaN", "c": "?", "d": "(list)", "e": "x"} == plain


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        ),
    )
)
def test_what_is_kept_stays_as_it_is(details: dict[str, Any]) -> None:
    """Preparing an event for storage twice changes nothing."""
    once = storable(details)
    assert once == storable(once)
    assert isinstance(sentence_of("ToolExecuted", once), str)


@pytest.mark.parametrize(
    ("event", "details", "text"),
    [
        pytest.param(
            "GoalUpdated", {"goal_id": 3, "status": "dropped"}, "goal 3 is dropped", id="ours"
        ),
        pytest.param("GoalUpdated", {"goal_id": 3}, "goal 3 is ?", id="something is missing"),
        pytest.param(
            "message_characters_exceeded",
            {"attempted": 9, "kept": 5},
            "limit message_characters: 9 were wanted, 5 kept",
            id="a limit",
        ),
        pytest.param("own", {"a": 1, "b": "", "c": None, "d": "{x}"}, "a 1, d {x}", id="a game's"),
        pytest.param("budget_near", {"text": "a\nb"}, "a b", id="one line"),
        pytest.param(
            "look_changed", {"changed": ["desc", "aliases"]}, "its desc, aliases changed", id="list"
        ),
    ],
)
def test_an_event_in_words(event: str, details: dict[str, Any], text: str) -> None:
    assert text == sentence_of(event, details)
    assert 200 > len(sentence_of(event, {**details, "status": "x" * 9999, "a": "y"}))


def test_a_fact_is_what_it_was_made_of() -> None:
    assert AuditEvent("own", {"event": 1, "details": 2}) == audit_event("own", event=1, details=2)


def test_a_kind_without_a_row_is_logged() -> None:
    """A game's own events go to its log as well."""
    assert kind_of("own").is_logged
    assert not kind_of("TickCompleted").is_logged


def recorded_names() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    return {name for text in texts for name in RECORDED.findall(text)}


def test_every_event_of_ours_has_a_row() -> None:
    """The table of events in the documents needs a text for each, without a `|`."""
    names = recorded_names()
    assert {"hushed", "GoalCreated", "budget_near"} <= names
    assert set() == {name for name in names if not kind_of(name).text}
    assert all("|" not in kind.text for kind in EVENTS.values())


def test_hole_c17_a_very_long_text_is_known_by_its_fingerprint() -> None:
    """No pattern runs over it, and a secret's name masks it at any length."""
    text = "token=abc " * 10_000
    assert len(text) + len('""') == storable({"text": text})["text"]["characters"]
    assert MASK == storable({"password": text})["password"]


@given(
    st.text() | st.booleans() | st.integers() | st.text(alphabet='"\\\n\x00\ud800é', max_size=40)
)
def test_the_short_way_keeps_what_json_would(value: Any) -> None:
    """A plain value skips the round trip through JSON, with the same result."""
    assert [bounded(value)] == bounded([value])


@pytest.mark.parametrize("glue", ["", " ", "x", "Basic", "bearer"])
@given(before=st.text(max_size=5), after=st.text(max_size=5))
def test_no_secret_is_overlooked(glue: str, before: str, after: str) -> None:
    for secret in ("sk-abcdefghijklmnop", "bearer abcdefgh.x", "://tom:lamp@h", "token=lamp"):
        assert secret not in masked(f"{before} {glue} {secret} {after}")
