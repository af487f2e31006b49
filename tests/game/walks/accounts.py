"""Accounts of a walk: the fate of each message, the answers heard, and the ledger."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reservations import SHARE
from evennia_ai.models import BudgetTotal, ModelCall
from evennia_ai.runtime import state
from tests.game.people import Person

UTTERANCE = re.compile(r"u(\d+) for ((?:m\d+ ?)+)\.")
COUNTERS = (
    "calls", "open_calls", "prompt_tokens", "completion_tokens", "cost_nano", "held_tokens",
    "held_cost_nano", "granted_tokens", "granted_calls",
)  # fmt: skip
ADDED = COUNTERS[:7]
SPENT = ("prompt_tokens", "completion_tokens", "cost_nano")
HELD_TOKENS = ("estimated_prompt_tokens", "estimated_completion_tokens")
CALL = ("key", "state", "person", *SPENT, *HELD_TOKENS, "estimated_cost_nano")
# The last is the cause logged with another failure, never alone.
EXPECTED = ("the gears are stuck", "it fell into the sea", "evennia_ai.errors.ToolError: ")
MOST_SAID = 1000


class Traces:
    """Collects unexpected tracebacks from the log.

    Args:
        wrong: the list they are added to.
    """

    def __init__(self, wrong: list[str]) -> None:
        self._wrong = wrong
        self._lines: list[str] = []

    def __call__(self, event: dict[str, Any]) -> None:
        """Read one event of Twisted's log."""
        if "log_failure" in event:
            self._end(event["log_failure"].getTraceback())
            return
        line = str(event.get("line", ""))
        if line.startswith("Traceback"):
            self._lines = [line]
        elif self._lines:
            self._lines.append(line)
            if line and not line.startswith(" "):
                self._end("\n".join(self._lines))

    def _end(self, trace: str) -> None:
        self._lines = []
        if not any(known in trace for known in EXPECTED):
            self._wrong.append(trace)


class Listener(Person):
    """Keeps every message, and those whose sender was stopped at that moment.

    Attributes:
        on_hearing: called with the speaker's script, at the moment a message is heard.
    """

    on_hearing: list[Callable[[Any], None]] = []

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        heard = super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)
        script = getattr(from_obj, "assistant_script", None)
        if script is not None and script.pk is not None:
            if state.read(script, "emergency_stop"):
                self.ndb.while_stopped = [*(self.ndb.while_stopped or ()), self.messages[-1]]
            for act in self.on_hearing:
                act(script)
        return heard


@dataclass(slots=True)
class Sent:
    """A message that is to be answered.

    Attributes:
        key: the assistant it was sent to.
        event_id: its id in the inbox; "" before that is known.
        answers: the numbers of the utterances heard that answer it.
    """

    token: str
    person: str
    key: str
    event_id: str = ""
    answers: set[int] = field(default_factory=set)


class Accounts:
    """The fate of each message: exactly one end.

    Attributes:
        open: messages without an end yet.
        ends: the number of messages for each end.
        said: utterances and their hearers, the newest thousand.
        wrong: broken invariants.
    """

    def __init__(self) -> None:
        self.open: dict[str, Sent] = {}
        self.ends: Counter[str] = Counter()
        self.said: dict[tuple[int, str], None] = {}
        self.wrong: list[str] = []
        self.sent = self.doubled = 0

    def asker(self, token: str) -> str:
        return self.open[token].person if token in self.open else ""

    def begin(self, person: str, key: str) -> Sent:
        self.sent += 1
        sent = Sent(f"m{self.sent}", person, key)
        self.open[sent.token] = sent
        return sent

    def close(self, sent: Sent, end: str) -> None:
        del self.open[sent.token]
        self.ends[end] += 1

    def hear(self, person: str, text: str) -> None:
        match = UTTERANCE.search(text)
        if match is None:
            return
        number, tokens = int(match[1]), match[2].split()
        if (number, person) in self.said:
            self._note_double(f"{person} heard u{number} twice")
        self.said[number, person] = None
        if len(self.said) > MOST_SAID:
            del self.said[next(iter(self.said))]
        for token in tokens:
            sent = self.open.get(token)
            if sent is None:
                self._note_double(f"{token} was answered by u{number} although it was closed")
            elif sent.person == person:
                sent.answers.add(number)
                if len(sent.answers) > 1:
                    self._note_double(f"{token} was answered twice: {sorted(sent.answers)}")

    def _note_double(self, problem: str) -> None:
        self.doubled += 1
        self.wrong.append(problem)


def check_ledger() -> None:
    """Check that no counter is negative, and that each scope's totals are the sums of its calls.

    Rows are read whole and summed here: after each step of a walk, building sums for the database
    took half of the time of the walks.
    """
    ledger.store().flush()
    totals = list(BudgetTotal.objects.values("scope", "period", *COUNTERS))
    wrong = [row for row in totals if any(row[name] < 0 for name in COUNTERS)]
    assert not wrong, f"a counter is negative: {wrong}"
    calls = list(ModelCall.objects.values(*CALL))
    for scope in ("game", "assistant", "player"):
        rows = [row for row in totals if row["scope"] == scope and row["period"] == ""]
        counted = {name: sum(row[name] for row in rows) for name in ADDED}
        summed = _sum_of_calls([row for row in calls if scope != "player" or row["person"]])
        assert counted == summed, f"{scope}: {counted} in all, {summed} in its calls"


def _sum_of_calls(calls: list[dict[str, Any]]) -> dict[str, int]:
    whole = [row for row in calls if not row["key"].endswith(SHARE)]
    held = [row for row in calls if row["state"] == "open"]
    return {
        "calls": sum(row["state"] != "released" for row in whole),
        "open_calls": sum(row["state"] == "open" for row in whole),
        **{name: sum(row[name] for row in calls) for name in SPENT},
        "held_tokens": sum(row[name] for row in held for name in HELD_TOKENS),
        "held_cost_nano": sum(row["estimated_cost_nano"] for row in held),
    }
