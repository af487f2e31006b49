"""Traces of turns: plain data without prompts or private words, and bounded."""

import json

from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.turn import trace
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.turn import MoneySpent, TokenUsage, Turn
from tests.core.hearing.test_decision_traces import IGNORED
from tests.core.samples import make_heard

SECRET = "xylophone"


def _event(source: str) -> Event:
    return Event(
        id="1",
        kind="message",
        source=source,
        sender_id="#3",
        sender_name="Tom",
        body=f"my {SECRET}",
        trust=0.7,
        rule=2,
        hops=0,
        at=5.0,
        person="*#2",
        number=4,
    )


def _traced(source: str, *, keeps: bool = False, may: bool = True) -> trace.MessageTrace:
    event = _event(source)
    turn = Turn(0, (event,))
    turn.hold(*event.held)
    return trace.message_trace(
        turn,
        event,
        Stop(StopReason.TERMINAL_TOOL),
        None,
        answer=f"a {SECRET}!",
        ended=7.25,
        keeps_private=keeps,
        may_keep_words=may,
    )


def test_public_words_are_kept_and_private_ones_are_not() -> None:
    """Some games keep private words too, but never those of a person who opted out."""
    assert (f"my {SECRET}", f"a {SECRET}!") == (_traced("say").words, _traced("say").answer)
    for source in ("whisper", "page"):
        assert SECRET not in str(_traced(source))
        assert SECRET in str(_traced(source, keeps=True))
        assert SECRET not in str(_traced(source, keeps=True, may=False))
    assert SECRET not in str(_traced("say", may=False))


def test_a_prompt_is_told_by_fingerprints() -> None:
    parts = [("persona", "A keeper."), ("rules", "Be kind."), ("again", "A keeper.")]
    marks = trace.fingerprints(parts)
    assert marks["persona"] == marks["again"] != marks["rules"]
    assert trace.DIGITS == len(marks["rules"])
    assert trace.MOST_PARTS == len(trace.fingerprints((str(n), "x") for n in range(99)))
    assert trace.fingerprint("\ud800")


def test_a_row_is_bounded_whatever_happened() -> None:
    event = _event("say")
    turn = Turn(0, (event,), grants={"max_iterations": 5.0})
    details = {"tool_name": "look" * 99, "success": False, "error": "no " * 999}
    turn.ran = [audit_event("ToolExecuted", **details)] * 99
    facts = trace.facts_of(turn, event, Stop(StopReason.LLM_ERROR, "x" * 9_999), None, 7.25)
    assert len(json.dumps(facts)) < 8_000
    assert trace.MOST_TOOLS == len(facts["tools"])
    assert (["max_iterations"], "failed", 2.2) == (
        facts["limits"],
        facts["result"],
        facts["seconds"],
    )


def test_marks_of_the_server_are_told_in_words() -> None:
    """The marks are kept in the trace, beside the rule that judged."""
    heard = make_heard(body="hi", from_assistant=True, hops=2, is_relayed=True, is_for_another=True)
    marks = ["of an assistant, hop 2", "relayed by a bot", "aimed at somebody else"]
    assert marks == trace.marks_of(heard)
    record = DecisionTrace(4, 5.0, heard, IGNORED, (("queued", "1 waiting"), ("answered", SECRET)))
    event = _event("say")
    facts = trace.facts_of(Turn(0, (event,)), event, Stop(StopReason.NOOP), record, 7.25)
    assert (marks, "default") == (facts["marks"], facts["rule_name"])
    assert [["queued", "1 waiting"], ["answered", ""]] == facts["steps"]


def test_a_row_is_columns() -> None:
    row = _traced("say")
    columns = dict(zip(trace.COLUMNS, trace.in_columns(row), strict=True))
    assert f"my {SECRET}" == columns["words"] == row.words


def test_what_calls_cost_adds_up() -> None:
    spent = MoneySpent()
    spent.add(5, TokenUsage(30, 9), is_priced=True)
    spent.add(0, TokenUsage(), is_priced=False)
    assert (5, 1, 2) == (spent.nano, spent.unpriced, spent.calls)
    assert TokenUsage(30, 9) == spent.usage
