"""Every rule with every source and evidence, and outcomes that no message can cause.

The oracle is `expected`, written from the specification as a tree of questions (who speaks? how? to
whom?), where the rules themselves are a list.
"""

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evennia_ai.core.hearing.calling import NameCall, call_of, is_named, mention_of
from evennia_ai.core.hearing.perception import (
    STRANGER,
    ChannelConfig,
    Ear,
    Evidence,
    Heard,
    Outcome,
    Source,
    Standing,
)
from evennia_ai.core.hearing.rules import RULES, classify
from tests.core.samples import ADA, EARS, HEARD, POSING_TEXT, STANDINGS, make_heard

Changes = dict[str, Any]

# Bodies, and how each names the listener: "at" is @name, "first" and "last" the bare name there.
NAMED = {
    "hello": "",
    "ada@example.org": "",
    "I saw Ada yesterday": "named",
    "Ada, hello": "first",
    "what is it, Ada": "last",
    "@ada hello": "at",
}
KINDS = {
    "whisper": "private",
    "page": "private",
    "channel": "channel",
    "say": "room",
    "pose": "room",
    "emit": "scene",
    "move": "event",
    "system": "game",
}
EVIDENCE = ("kwargs", "oob", "record", "call", "none")
PUBLIC = {"public": ChannelConfig(mode=Outcome.CONTEXT)}

# Rule: the sources with which it wins, and the changes to message, listener and sender for that.
RECIPES: dict[str, tuple[str, Changes, Changes, Changes]] = {
    "interaction_disabled": (" ".join(KINDS), {}, {"interaction_enabled": False}, {}),
    "muted": ("whisper page channel say pose emit move", {}, {}, {"is_muted": True}),
    "own_speech": (" ".join(KINDS), {"sender_id": ADA.id, "from_assistant": True}, {}, {}),
    "command_output": (" ".join(KINDS), {"sender_id": ADA.id}, {"is_capturing": True}, {}),
    "self_message": (" ".join(KINDS), {"sender_id": ADA.id}, {}, {}),
    "direct_address": ("whisper page channel say pose emit", {"body": "@ada hello"}, {}, {}),
    "continued_address": ("channel say pose", {}, {}, {"is_engaged": True}),
    "direct_message": ("whisper page", {}, {}, {}),
    "hop_limit": (
        "whisper page channel say pose emit",
        {"body": "@ada hello", "from_assistant": True, "hops": 3},
        {},
        {},
    ),
    "assistant_cross_talk": ("channel say pose emit move", {"from_assistant": True}, {}, {}),
    "trigger_permission": ("channel say pose", {}, {}, {"is_permitted": True}),
    "channel_config": ("channel", {"place": "Public"}, {"channels": PUBLIC}, {}),
    "room_message": ("say pose emit move", {}, {"room_messages": Outcome.TRIGGER}, {}),
    "posed_at": ("pose", {"body": "I saw Ada yesterday"}, {}, {}),
    "default": ("channel say pose emit move", {}, {}, {}),
}
ROWS = list(product(RECIPES, KINDS, EVIDENCE))


def expected(heard: Heard, ear: Ear, sender: Standing) -> tuple[str, str]:
    """The rule that decides, and its outcome, for a body that is in `NAMED`."""
    if not ear.interaction_enabled:
        return "interaction_disabled", "ignore"
    kind = KINDS[heard.source.value]
    is_own = heard.sender_id == ear.id or kind == "game"
    if sender.is_muted and not is_own:
        return "muted", "ignore"
    is_called = ear.enable_addressing and kind not in ("event", "game") and _calls(heard, ear)
    if is_own:
        return _of_its_own(heard, ear)
    if heard.from_assistant:
        return _of_an_assistant(heard, ear, is_called=is_called, is_private=kind == "private")
    if is_called:
        return "direct_address", "trigger"
    if kind == "private":
        return "direct_message", "trigger"
    return _of_a_person(heard, ear, sender, kind)


def _calls(heard: Heard, ear: Ear) -> bool:
    way = NAMED[heard.body]
    if way in ("first", "last") and heard.source.value in ("say", "channel"):
        is_last_word = heard.source.value == "say" and not heard.is_for_another
        is_hers = way == "first" or is_last_word
        return is_hers and ear.addressed_by == "name" and not heard.from_assistant
    return way == "at"


def _of_its_own(heard: Heard, ear: Ear) -> tuple[str, str]:
    if heard.from_assistant and heard.sender_id == ear.id:
        return "own_speech", "ignore"
    return ("command_output", "capture") if ear.is_capturing else ("self_message", "context")


def _of_an_assistant(
    heard: Heard, ear: Ear, *, is_called: bool, is_private: bool
) -> tuple[str, str]:
    if not is_called and not is_private:
        return "assistant_cross_talk", "context"
    if ear.max_agent_hops and heard.hops - heard.hops_granted >= ear.max_agent_hops:
        return "hop_limit", "context"
    return ("direct_address" if is_called else "direct_message"), "trigger"


def _of_a_person(heard: Heard, ear: Ear, sender: Standing, kind: str) -> tuple[str, str]:
    is_hers_to_take = kind in ("channel", "room") and not heard.is_for_another
    is_said_here = is_hers_to_take and not heard.is_relayed
    if is_said_here and sender.is_engaged and ear.enable_addressing:
        return "continued_address", "trigger"
    if is_said_here and sender.is_permitted:
        return "trigger_permission", "trigger"
    if kind == "channel":
        config = ear.channels.get(heard.place.casefold())
        name, mode = ("channel_config", config.mode) if config else ("default", Outcome.IGNORE)
    else:
        mode = ear.room_messages
        name = "default" if mode is Outcome.IGNORE else "room_message"
        goes_by_name = ear.enable_addressing and ear.addressed_by == "name"
        if mode is Outcome.IGNORE and heard.source.value == "pose" and goes_by_name:
            return ("posed_at", "context") if NAMED[heard.body] else ("default", "ignore")
    return name, "context" if mode is Outcome.TRIGGER and not is_hers_to_take else mode.value


def judged(heard: Heard, ear: Ear, sender: Standing) -> tuple[str, str]:
    verdict = classify(heard, ear, sender)
    return verdict.name, verdict.outcome.value


def situation(rules: tuple[str, ...], **heard: Any) -> tuple[Heard, Ear, Standing]:
    """A message that fulfils the recipes of all these rules at once."""
    parts: tuple[Changes, Changes, Changes] = (heard, {}, {})
    for rule in rules:
        for part, changes in zip(parts, RECIPES[rule][1:], strict=True):
            part.update(changes)
    return make_heard(**parts[0]), replace(ADA, **parts[1]), Standing(**parts[2])


def test_no_row_is_forgotten() -> None:
    """A rule, source or evidence that is added fails here until it has its row."""
    assert [rule.name for rule in RULES] == list(RECIPES)
    assert [str(source) for source in Source] == sorted(KINDS, key=[*map(str, Source)].index)
    assert [str(evidence) for evidence in Evidence] == list(EVIDENCE)
    assert len(RULES) * len(Source) * len(Evidence) == len(set(ROWS))
    assert set(KINDS) >= {source for row in RECIPES.values() for source in row[0].split()}


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("rule", RECIPES)
def test_every_rule_with_every_source_and_evidence(rule: str, source: str) -> None:
    """A rule wins with its own sources, whatever the evidence, and with no other source."""
    for evidence in EVIDENCE:
        assert (rule, source, evidence) in ROWS
        message = situation((rule,), source=Source(source), evidence=Evidence(evidence))
        assert (source in RECIPES[rule][0].split()) is (rule == judged(*message)[0])
        assert expected(*message) == judged(*message)


@pytest.mark.parametrize("source", KINDS)
def test_several_rules_at_once(source: str) -> None:
    """Of two or three matching rules, the one that the specification names first wins."""
    for number in (2, 3):
        for rules in combinations(RECIPES, number):
            message = situation(rules, source=Source(source))
            assert expected(*message) == judged(*message), rules


@given(HEARD, st.sampled_from(sorted(NAMED)), EARS, STANDINGS)
def test_as_specified(heard: Heard, body: str, ear: Ear, sender: Standing) -> None:
    message = replace(heard, body=body), replace(ear, names=ADA.names), sender
    assert expected(*message) == judged(*message)


@given(HEARD, EARS, STANDINGS)
@example(make_heard(body="look, Ada", source=Source.CHANNEL, place=""), ADA, STRANGER)
def test_classify_is_total_and_first_rule_wins(heard: Heard, ear: Ear, sender: Standing) -> None:
    first = next(rule for rule in RULES if rule.applies(heard, ear, sender))
    verdict = classify(heard, ear, sender)
    assert (first.number, first.name) == (verdict.rule, verdict.name)
    if isinstance(first.outcome, Outcome):
        assert first.outcome is verdict.outcome
    else:
        assert first.outcome(heard, ear) is verdict.outcome is not Outcome.CAPTURE
    assert 0.0 <= verdict.trust <= 1.0


@given(HEARD, EARS, STANDINGS)
def test_no_endless_talk(heard: Heard, ear: Ear, sender: Standing) -> None:
    """Neither its own words nor an assistant's at the last hop make it answer."""
    ear = replace(ear, max_agent_hops=ear.max_agent_hops or 1)
    own = replace(heard, sender_id=ear.id)
    cap = ear.max_agent_hops + heard.hops_granted
    last = replace(heard, from_assistant=True, hops=max(heard.hops, cap))
    game = replace(heard, source=Source.SYSTEM)
    for message in (own, last, game):
        assert Outcome.TRIGGER is not classify(message, ear, sender).outcome


@given(HEARD, EARS, STANDINGS)
def test_the_muted_are_not_heard(heard: Heard, ear: Ear, sender: Standing) -> None:
    """The listener's own words and the game's are never muted."""
    verdict = classify(heard, ear, replace(sender, is_muted=True))
    if heard.sender_id == ear.id or heard.source is Source.SYSTEM:
        assert classify(heard, ear, replace(sender, is_muted=False)) == verdict
    else:
        assert Outcome.IGNORE is verdict.outcome


@given(HEARD, EARS, STANDINGS)
def test_no_stranger_outside_speaks_with_a_bots_rights(
    heard: Heard, ear: Ear, sender: Standing
) -> None:
    """A relay's rights and talks do not count for the words that it passes on."""
    relayed = replace(heard, is_relayed=True)
    unknown = replace(sender, is_engaged=False, is_permitted=False, trust_override=None)
    assert classify(relayed, ear, unknown) == classify(relayed, ear, sender)


@given(HEARD, EARS, STANDINGS)
def test_what_happens_is_no_speech(heard: Heard, ear: Ear, sender: Standing) -> None:
    """An emit may be a lamp that is picked up, so it is answered only if it names the listener."""
    verdict = classify(replace(heard, source=Source.EMIT), ear, sender)
    if verdict.outcome is Outcome.TRIGGER:
        assert "direct_address" == verdict.name


@given(HEARD, EARS, STANDINGS)
def test_a_channels_trust_is_for_channels(heard: Heard, ear: Ear, sender: Standing) -> None:
    """A room may be called like a channel."""
    deaf = replace(ear, channels={})
    if heard.source is not Source.CHANNEL:
        assert classify(heard, deaf, sender) == classify(heard, ear, sender)


@given(HEARD, EARS, STANDINGS)
def test_addressing_switched_off_ends_talks(heard: Heard, ear: Ear, sender: Standing) -> None:
    verdict = classify(heard, replace(ear, enable_addressing=False), sender)
    assert verdict.name not in ("direct_address", "continued_address")


@given(HEARD, EARS, STANDINGS, st.sampled_from([Source.MOVE, Source.SYSTEM]))
def test_what_nobody_said_is_no_mention(
    heard: Heard, ear: Ear, sender: Standing, source: Source
) -> None:
    verdict = classify(replace(heard, body="@ada hello", source=source), ear, sender)
    assert Outcome.TRIGGER is not verdict.outcome
    assert "direct_address" != verdict.name


OPEN = st.sampled_from([Source.SAY, Source.POSE, Source.EMIT, Source.CHANNEL])


@given(POSING_TEXT, POSING_TEXT, POSING_TEXT, OPEN, st.sampled_from(Evidence), EARS)
def test_no_text_makes_what_only_metadata_can(
    body: str, name: str, place: str, source: Source, evidence: Evidence, ear: Ear
) -> None:
    """No words, name or place of a stranger pass for a private message or a right."""
    ear = replace(ear, channels={})
    heard = Heard(body, source, "#7", name, "*#3", place, evidence=evidence)
    verdict = classify(heard, ear, STRANGER)
    assert verdict.rule not in (3, 5, 6)
    if verdict.outcome is Outcome.TRIGGER and verdict.name != "room_message":
        assert mention_of(body, ear.names) or call_of(body, ear.names)


def _naming(body: str, ear: Ear) -> tuple[bool, NameCall, bool]:
    return mention_of(body, ear.names), call_of(body, ear.names), is_named(body, ear.names)


@given(HEARD, EARS, STANDINGS, POSING_TEXT, POSING_TEXT)
def test_text_moves_no_rule_but_those_of_a_mention(
    heard: Heard, ear: Ear, sender: Standing, body: str, name: str
) -> None:
    """Other words matter only in how they name the listener; the sender's name never does."""
    other = replace(heard, body=body, sender_name=name)
    for rule in RULES:
        if rule.name not in ("direct_address", "hop_limit", "posed_at"):
            assert rule.applies(heard, ear, sender) is rule.applies(other, ear, sender)
    if _naming(heard.body, ear) == _naming(body, ear):
        assert classify(heard, ear, sender) == classify(other, ear, sender)


@given(HEARD, EARS, STANDINGS)
def test_evidence_decides_nothing_but_the_worth_of_an_address(
    heard: Heard, ear: Ear, sender: Standing
) -> None:
    """Without evidence of its kind, an addressed message gets no additional trust."""
    known, *others, unknown = (classify(replace(heard, evidence=e), ear, sender) for e in Evidence)
    assert [known] * len(others) == others
    if known.name == "direct_address":
        plain = classify(replace(heard, body="hello"), ear, sender)
        assert replace(known, basis=plain.basis) == unknown
        assert unknown.trust <= known.trust
    else:
        assert known == unknown
