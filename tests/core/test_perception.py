"""Judgement of messages by the rules, in examples."""

from __future__ import annotations

from typing import Any

import pytest

from evennia_ai.core.hearing.perception import ChannelConfig, Evidence, Outcome, Source, Standing
from evennia_ai.core.hearing.rules import RULES, Rule, classify, is_unsure
from tests.core.samples import ADA, judge, make_heard


@pytest.mark.parametrize(
    ("verdict", "trust", "heard", "ear"),
    [
        pytest.param("0 interaction_disabled ignore", 0.9, {"source": "whisper"},
                     {"interaction_enabled": False}, id="deaf"),
        pytest.param("1 own_speech ignore", 0.4, {"sender_id": "#5", "from_assistant": True}, {},
                     id="the echo of its own speech"),
        pytest.param(
            "1 own_speech ignore",
            0.9,
            {"sender_id": "#5", "from_assistant": True, "source": "whisper", "body": "@ada"},
            {},
            id="a whisper to itself that names it",
        ),
        pytest.param("1 self_message context", 0.4, {"sender_id": "#5"}, {},
                     id="what a puppeteer made it say"),
        pytest.param("2 direct_address trigger", 0.7, {"body": "@ada hi"}, {}, id="a mention"),
        pytest.param("2 direct_address trigger", 0.9, {"body": "@ada hi", "source": "whisper"}, {},
                     id="a mention in a whisper"),
        pytest.param("7 default ignore", 0.4, {"body": "@ada hi"}, {"enable_addressing": False},
                     id="mentions switched off"),
        pytest.param("2 direct_address trigger", 0.7,
                     {"body": "@ada hi", "source": "emit", "evidence": Evidence.RECORD}, {},
                     id="a mention in an emit that the server tells of"),
        pytest.param("2 direct_address trigger", 0.4,
                     {"body": "@ada hi", "evidence": Evidence.NONE}, {},
                     id="a mention that nothing vouches for"),
        pytest.param("2 direct_address trigger", 0.7, {"body": "Ada, hi"}, {}, id="her name"),
        pytest.param("2 direct_address trigger", 0.7, {"body": "what is this, Ada?"}, {},
                     id="name at the end"),
        pytest.param("7 default ignore", 0.4,
                     {"body": "what is this, Ada?", "is_for_another": True}, {},
                     id="her name at the end of what is for another"),
        pytest.param("2 direct_address trigger", 0.7,
                     {"body": "thank you Ada", "source": "channel", "place": "Public"}, {},
                     id="her name on a channel"),
        pytest.param("7 default ignore", 0.4, {"body": "Ada, hi"}, {"addressed_by": "at"},
                     id="only by @name"),
        pytest.param("7 default ignore", 0.4, {"body": "Ada, hi"}, {"enable_addressing": False},
                     id="names switched off"),
        pytest.param("4 assistant_cross_talk context", 0.4,
                     {"body": "Ada, hi", "from_assistant": True, "hops": 1}, {},
                     id="her name in the mouth of another assistant"),
        pytest.param("7 default ignore", 0.2, {"body": "Ada, hi", "source": "emit"}, {},
                     id="name in an emit"),
        pytest.param("7 default ignore", 0.8, {"body": "Ada, hi", "source": "move"}, {},
                     id="name in a move"),
        pytest.param("7 posed_at context", 0.3, {"body": "nods to Ada.", "source": "pose"}, {},
                     id="a pose at her"),
        pytest.param("7 default ignore", 0.3, {"body": "nods to Ada.", "source": "pose"},
                     {"addressed_by": "at"}, id="a pose at her, only by @name"),
        pytest.param("7 room_message trigger", 0.3, {"body": "nods to Ada.", "source": "pose"},
                     {"room_messages": Outcome.TRIGGER}, id="a pose at her where all is answered"),
        pytest.param("3 direct_message trigger", 0.9, {"source": "whisper"}, {}, id="a whisper"),
        pytest.param("3 direct_message trigger", 0.9, {"source": "page"}, {}, id="a page"),
        pytest.param("3 direct_message trigger", 0.9,
                     {"source": "whisper", "from_assistant": True, "hops": 2}, {},
                     id="a whisper of another assistant"),
        pytest.param("4 hop_limit context", 0.9,
                     {"source": "whisper", "from_assistant": True, "hops": 3}, {},
                     id="two assistants end it after three hops"),
        pytest.param("4 hop_limit context", 0.4,
                     {"body": "@ada", "from_assistant": True, "hops": 3}, {},
                     id="a mention by an assistant after three hops"),
        pytest.param("3 direct_message trigger", 0.9, {"source": "whisper", "hops": 9}, {},
                     id="hops do not silence people"),
        pytest.param("4 assistant_cross_talk context", 0.4, {"from_assistant": True}, {},
                     id="talk of another assistant"),
        pytest.param("7 default ignore", 0.4, {}, {}, id="talk in the room"),
        pytest.param("7 default ignore", 0.3, {"source": "pose"}, {}, id="a pose"),
        pytest.param("7 default ignore", 0.6, {"source": "channel"}, {}, id="a channel"),
        pytest.param("7 default ignore", 0.2, {"source": "emit"}, {}, id="an emit"),
        pytest.param("7 default ignore", 0.4, {"place": "Public"},
                     {"channels": {"public": ChannelConfig(mode=Outcome.TRIGGER, trust=0.0)}},
                     id="a room that is called like a channel"),
    ],
)  # fmt: skip
def test_rules(verdict: str, trust: float, heard: dict[str, Any], ear: dict[str, Any]) -> None:
    """Each kind of message is judged by its rule, with the trust of its source."""
    assert (verdict, trust) == judge(heard, ear)


@pytest.mark.parametrize(
    ("verdict", "trust", "heard", "sender"),
    [
        pytest.param("0 muted ignore", 0.9, {"source": "whisper", "body": "@ada"},
                     {"is_muted": True}, id="who muted her is not heard"),
        pytest.param("1 self_message context", 0.4, {"sender_id": "#5"}, {"is_muted": True},
                     id="her own puppeteer who muted her"),
        pytest.param("1 self_message context", 0.5, {"source": "system"}, {"is_muted": True},
                     id="the game is never muted"),
        pytest.param("2 continued_address trigger", 0.4, {}, {"is_engaged": True},
                     id="a talk goes on"),
        pytest.param("7 default ignore", 0.2,
                     {"source": "emit", "body": "Tom picks up a lamp.", "evidence": Evidence.NONE},
                     {"is_engaged": True, "is_permitted": True},
                     id="picking up a lamp is not speech"),
        pytest.param("7 default ignore", 0.4,
                     {"source": "channel", "place": "Public", "is_relayed": True},
                     {"is_engaged": True, "is_permitted": True, "trust_override": 0.95},
                     id="strangers behind a bot have none of its rights"),
        pytest.param("2 continued_address trigger", 0.6, {"source": "channel", "place": "Public"},
                     {"is_engaged": True}, id="a talk on a channel goes on"),
        pytest.param("7 default ignore", 0.4, {"is_for_another": True}, {"is_engaged": True},
                     id="in a talk, a word to somebody else"),
        pytest.param("2 direct_address trigger", 0.7, {"body": "@ada hi", "is_for_another": True},
                     {"is_engaged": True}, id="who names her is answered, whoever else is named"),
        pytest.param("4 assistant_cross_talk context", 0.4, {"from_assistant": True},
                     {"is_engaged": True, "is_permitted": True},
                     id="no talk goes on with an assistant, whatever it may do"),
        pytest.param("3 direct_message trigger", 0.9, {"source": "page"},
                     {"is_engaged": True, "is_permitted": True}, id="a page is a page"),
        pytest.param("5 trigger_permission trigger", 0.4, {}, {"is_permitted": True},
                     id="a permission"),
        pytest.param("7 default ignore", 0.4, {"is_for_another": True}, {"is_permitted": True},
                     id="a permission, but a word to somebody else"),
        pytest.param("7 default ignore", 0.8, {"source": "move"},
                     {"is_permitted": True, "is_engaged": True},
                     id="who only comes in says nothing"),
        pytest.param("1 self_message context", 0.5,
                     {"source": "system", "body": "@ada", "sender_id": "", "person": ""}, {},
                     id="the game's own words"),
        pytest.param("7 default ignore", 0.5, {}, {"answered": 99}, id="an old friend"),
        pytest.param("7 default ignore", 0.2, {}, {"refused": 99}, id="a nuisance"),
        pytest.param("7 default ignore", 0.95, {}, {"trust_override": 0.95}, id="trusted staff"),
    ],
)  # fmt: skip
def test_rules_and_senders(
    verdict: str, trust: float, heard: dict[str, Any], sender: dict[str, Any]
) -> None:
    assert (verdict, trust) == judge(heard, None, sender)


@pytest.mark.parametrize(
    ("is_it", "heard"),
    [
        pytest.param(True, {"body": "what is this, Ada?"}, id="her name at the end"),
        pytest.param(False, {"body": "Ada, what is this?"}, id="her name at the beginning"),
        pytest.param(
            False, {"body": "what is this, Ada?", "source": Source.CHANNEL}, id="on a channel"
        ),
        pytest.param(
            False, {"body": "what is this, Ada?", "from_assistant": True}, id="of an assistant"
        ),
    ],
)
def test_a_call_that_another_may_outdo(is_it: bool, heard: dict[str, Any]) -> None:
    """A name at the end calls her only while nobody else is called more plainly."""
    assert is_it == is_unsure(make_heard(**heard), ADA)


def test_a_talk_needs_addressing() -> None:
    judged = judge({}, {"enable_addressing": False}, {"is_engaged": True})
    assert ("7 default ignore", 0.4) == judged


def test_rule_numbers_rise() -> None:
    numbers = [rule.number for rule in RULES]
    assert sorted(numbers) == numbers
    assert list(range(8)) == sorted(set(numbers))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_told_in_words(rule: Rule) -> None:
    """The sentence must fit into a table of the documents."""
    assert [rule.text] == rule.text.splitlines()
    assert rule.text.endswith(".")
    assert "|" not in rule.text


def test_every_source_has_words() -> None:
    words = ["whisper", "page", "channel", "say", "pose", "emit", "move", "system"]
    assert words == [str(source) for source in Source]


def test_a_verdict_tells_what_trust_rests_on() -> None:
    verdict = classify(make_heard(body="@ada hi"), ADA, Standing(answered=4, refused=1))
    assert ("say 0.7, sender -0.01", 0.69) == (verdict.basis.explain(), verdict.trust)


def test_the_face_of_a_sender_is_the_mask() -> None:
    assert "*#3" == make_heard().face
    assert "#7~1a2b3c4d" == make_heard(mask="#7~1a2b3c4d").face
