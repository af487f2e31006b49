"""What a message means to the listener."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.perception import RULES, Ear, Heard, Source, classify, is_addressed
from tests.core.samples import ANY_TEXT

ADA = Ear(names=("Ada", "keeper", "Ada Lovelace"))

HEARD = st.builds(
    Heard,
    body=st.sampled_from(["hello", "@ada hello", "ada@example.org", ""]) | ANY_TEXT,
    source=st.sampled_from(Source),
    is_self=st.booleans(),
    from_assistant=st.booleans(),
    hops=st.integers(0, 4),
)
EARS = st.builds(
    Ear,
    names=st.just(ADA.names) | st.lists(ANY_TEXT, max_size=2).map(tuple),
    interaction_enabled=st.booleans(),
    enable_addressing=st.booleans(),
    max_agent_hops=st.integers(0, 3),
)


@pytest.mark.parametrize(
    ("verdict", "trust", "heard", "ear"),
    [
        pytest.param(
            "0 interaction_disabled ignore",
            0.9,
            {"source": "whisper"},
            {"interaction_enabled": False},
            id="deaf",
        ),
        pytest.param(
            "1 own_speech ignore",
            0.4,
            {"is_self": True, "from_assistant": True},
            {},
            id="the echo of its own speech",
        ),
        pytest.param(
            "1 own_speech ignore",
            0.9,
            {"is_self": True, "from_assistant": True, "source": "whisper", "body": "@ada"},
            {},
            id="a whisper to itself that names it",
        ),
        pytest.param(
            "1 self_message context",
            0.4,
            {"is_self": True},
            {},
            id="what a puppeteer made it say",
        ),
        pytest.param("2 direct_address trigger", 0.7, {"body": "@ada hi"}, {}, id="a mention"),
        pytest.param(
            "2 direct_address trigger",
            0.9,
            {"body": "@ada hi", "source": "whisper"},
            {},
            id="a mention in a whisper",
        ),
        pytest.param(
            "7 default ignore",
            0.4,
            {"body": "@ada hi"},
            {"enable_addressing": False},
            id="mentions switched off",
        ),
        pytest.param("3 direct_message trigger", 0.9, {"source": "whisper"}, {}, id="a whisper"),
        pytest.param("3 direct_message trigger", 0.9, {"source": "page"}, {}, id="a page"),
        pytest.param(
            "3 direct_message trigger",
            0.9,
            {"source": "whisper", "from_assistant": True, "hops": 2},
            {},
            id="a whisper of another assistant",
        ),
        pytest.param(
            "4 assistant_cross_talk context",
            0.9,
            {"source": "whisper", "from_assistant": True, "hops": 3},
            {},
            id="two assistants end it after three hops",
        ),
        pytest.param(
            "4 assistant_cross_talk context",
            0.4,
            {"body": "@ada", "from_assistant": True, "hops": 3},
            {},
            id="a mention by an assistant after three hops",
        ),
        pytest.param(
            "3 direct_message trigger",
            0.9,
            {"source": "whisper", "hops": 9},
            {},
            id="hops do not silence people",
        ),
        pytest.param(
            "4 assistant_cross_talk context",
            0.4,
            {"from_assistant": True},
            {},
            id="talk of another assistant",
        ),
        pytest.param("7 default ignore", 0.4, {}, {}, id="talk in the room"),
        pytest.param("7 default ignore", 0.3, {"source": "pose"}, {}, id="a pose"),
        pytest.param("7 default ignore", 0.6, {"source": "channel"}, {}, id="a channel"),
        pytest.param("7 default ignore", 0.2, {"source": "emit"}, {}, id="an emit"),
    ],
)
def test_rules(verdict: str, trust: float, heard: dict[str, Any], ear: dict[str, Any]) -> None:
    """Each kind of message is judged by its rule, with the trust its source deserves."""
    facts = {"body": "hello", "source": "say", **heard}
    message = Heard(**{**facts, "source": Source(facts["source"])})
    judged = classify(message, Ear(**{"names": ADA.names, **ear}))
    assert verdict == f"{judged.rule} {judged.name} {judged.outcome}"
    assert trust == judged.trust


@given(HEARD, EARS)
def test_classify_is_total_and_first_rule_wins(heard: Heard, ear: Ear) -> None:
    """Any message is judged, by the first rule of the table that applies."""
    first = next(rule for rule in RULES if rule.applies(heard, ear))
    verdict = classify(heard, ear)
    assert (first.number, first.name, first.outcome) == (
        verdict.rule,
        verdict.name,
        verdict.outcome,
    )
    assert 0.0 <= verdict.trust <= 1.0


@given(HEARD, EARS)
def test_no_endless_talk(heard: Heard, ear: Ear) -> None:
    """Nothing of its own, and nothing of an assistant at the last hop, makes it answer."""
    verdict = classify(heard, ear)
    if heard.is_self or (heard.from_assistant and heard.hops >= ear.max_agent_hops):
        assert "trigger" != verdict.outcome


def test_rule_numbers_rise() -> None:
    """The table is written in the order in which it is tried."""
    numbers = [rule.number for rule in RULES]
    assert sorted(numbers) == numbers


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        pytest.param(True, "@ada", id="alone"),
        pytest.param(True, "hello @Ada!", id="at the end, with a mark"),
        pytest.param(True, "@ADA: the lamp", id="capitals"),
        pytest.param(True, "(@ada) look", id="in brackets"),
        pytest.param(True, "@ada's lamp", id="possessive"),
        pytest.param(True, "ask @ada.", id="at the end of a sentence"),
        pytest.param(True, "@ada... are you there", id="before dots"),
        pytest.param(True, "@ada-- quick", id="before a dash"),
        pytest.param(True, "@keeper, hello", id="an alias"),
        pytest.param(True, "@ada lovelace hello", id="a name of two words"),
        pytest.param(False, "ada, hello", id="without the sign"),
        pytest.param(False, "@ adam", id="the sign alone"),
        pytest.param(False, "@adam", id="a longer name"),
        pytest.param(False, "@ada-lovelace", id="a hyphenated name"),
        pytest.param(False, "@ada_", id="an underscore"),
        pytest.param(False, "@ada2", id="a digit"),
        pytest.param(False, "tom@ada", id="a mail address of a host"),
        pytest.param(False, "tom@ada.org", id="a mail address"),
        pytest.param(False, "tom.b-c+d@ada.org", id="a mail address with marks"),
        pytest.param(False, "tom+@ada.org", id="a mail address that ends in a mark"),
        pytest.param(False, "@ada.org", id="a host"),
        pytest.param(False, "@ada@example.org", id="an address of a social network"),
        pytest.param(False, "@@ada", id="a doubled sign"),
        pytest.param(False, "", id="nothing"),
    ],
)
def test_mentions(expected: bool, body: str) -> None:
    """A mention is @ and a name as a whole word, never part of something longer."""
    assert expected is is_addressed(body, ADA.names)


@pytest.mark.parametrize(
    ("expected", "name", "body"),
    [
        pytest.param(True, "Ζωή", "γεια @ΖΩΉ!", id="Greek capitals"),
        pytest.param(True, "Straße", "@STRASSE", id="sharp s"),
        pytest.param(True, "Zoë", "@zoe\u0308 hi", id="an accent written apart"),
        pytest.param(True, "Zoe\u0308", "@ZOË", id="a name written apart"),
        pytest.param(True, "Анна", "@анна, привет", id="Cyrillic"),
        pytest.param(True, "आदि", "@आदि नमस्ते", id="Devanagari"),
        pytest.param(True, "阿达", "你好 @阿达", id="Chinese"),
        pytest.param(True, " Ada ", "@ada", id="a name with blanks around it"),
        pytest.param(False, "आद", "@आदि", id="a vowel sign makes a longer word"),
        pytest.param(False, "Zoe", "@Zoe\u0301", id="an accent makes another name"),
        pytest.param(False, "گل", "@گل\u200cسر", id="a joiner makes a longer word"),
        pytest.param(False, "Анна", "@Аннабель", id="a longer Cyrillic name"),
        pytest.param(False, "ada", "आदि@ada", id="a Devanagari mail address"),
        pytest.param(False, "  ", "@ ", id="a blank name"),
        pytest.param(True, "a.b*c", "@A.B*C", id="a name with signs"),
        pytest.param(False, "a.b*c", "@axbbc", id="signs are only themselves"),
    ],
)
def test_mentions_in_any_script(expected: bool, name: str, body: str) -> None:
    """Case, accents and script make no difference to what is a whole word."""
    assert expected is is_addressed(body, (name,))


LETTERS = st.sampled_from("adbéअИß")
NAMES = st.builds(
    lambda first, rest: first + "".join(rest),
    LETTERS,
    st.lists(LETTERS | st.just("\u094d"), max_size=3),
)


@given(NAMES, st.sampled_from(["", "hello ", "(", "oh, ", "« "]), st.sampled_from("!?., )'"))
def test_a_name_in_any_case_is_heard(name: str, before: str, after: str) -> None:
    """Whatever the name, the case and the marks around it, a mention is heard."""
    bodies = (f"{before}@{spelled}{after}" for spelled in (name, name.upper(), name.casefold()))
    assert [True] * 3 == [is_addressed(body, (name,)) for body in bodies]


@given(NAMES, NAMES)
def test_a_longer_word_is_not_heard(name: str, more: str) -> None:
    """A name that goes on in letters of any script is another name."""
    assert not is_addressed(f"@{name}{more}", (name,))


LOCAL_PART = string.ascii_letters + string.digits + "!#$%&'*+/=?^_`{|}~-"


@given(st.lists(st.sampled_from(LOCAL_PART), min_size=1, max_size=6).map("".join))
def test_an_address_is_not_heard(local: str) -> None:
    """A mail address at a host named like the listener is no mention of it."""
    assert not is_addressed(f"write to {local}@ada.org", ("ada",))


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3).map(tuple))
def test_any_text_and_names_are_judged(body: str, names: tuple[str, ...]) -> None:
    """No text and no name is too odd to be looked at."""
    assert is_addressed(f"@{body}", names) in (True, False)


def test_every_source_has_words() -> None:
    """Sources are spelled as in the specification."""
    words = ["whisper", "page", "channel", "say", "pose", "emit"]
    assert words == [str(source) for source in Source]
