"""Questions to people: requests, choices, answers, and their wording and storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.plain_data import from_stored, to_stored

# Characters.
MOST_SHOWN = 400
MOST_DETAIL = 200
MOST_NAME = 60
LIMIT_PREFIX, TOOL_PREFIX = "safety.limit.", "tool."


class QuestionOutcome(StrEnum):
    """Ways in which a question ends."""

    ANSWERED = "answered"
    TIMEOUT = "timeout"
    NOBODY = "nobody"
    DISCARDED = "discarded"
    CROWDED = "crowded"
    MOOT = "moot"


@dataclass(frozen=True, slots=True)
class Choice:
    """A possible answer."""

    id: str
    label: str = ""
    hotkey: str = ""

    def cleaned(self) -> Choice:
        """The choice with its texts made safe to print."""
        return Choice(*(one_line(text, MOST_NAME) for text in (self.id, self.label, self.hotkey)))

    def __str__(self) -> str:
        return f"{self.id} ({self.hotkey})" if self.hotkey else self.id


YES_NO = (Choice("yes", "yes", "y"), Choice("no", "no", "n"))


def _folded(text: str) -> str:
    return text.strip().casefold()


def match(choices: Sequence[Choice], text: str) -> Choice | None:
    """The choice meant by a typed answer: by id, label or hotkey, in any case.

    An answer that fits several choices fits none.
    """
    answer = _folded(text)
    # An id wins over a label, and a label over a hotkey.
    for name in ("id", "label", "hotkey") if answer else ():
        matching = [choice for choice in choices if _folded(getattr(choice, name)) == answer]
        if matching:
            return matching[0] if len(matching) == 1 else None
    return None


def expected(choices: Iterable[Choice]) -> str:
    """The possible answers, for people: `yes (y), no (n)`."""
    return ", ".join(map(str, choices))


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request for a person's decision.

    Attributes:
        key: requests with the same key share one open question and its answer.
        kind: subject, such as `safety.limit.max_iterations` or `tool.dig`.
        actor: name of the assistant that asks.
    """

    key: str
    kind: str
    prompt: str
    detail: str = ""
    actor: str = ""
    choices: tuple[Choice, ...] = YES_NO

    def cleaned(self) -> ApprovalRequest:
        """The request with each text on one line, without escape codes, and of readable length."""
        return replace(
            self,
            prompt=one_line(self.prompt, MOST_SHOWN),
            detail=one_line(self.detail, MOST_DETAIL),
            actor=one_line(self.actor, MOST_NAME),
            choices=tuple(choice.cleaned() for choice in self.choices),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a question.

    Attributes:
        choice: id of the chosen answer, or "".
        by: name of the person who answered, or "".
    """

    outcome: QuestionOutcome
    choice: str = ""
    by: str = ""

    @property
    def is_yes(self) -> bool:
        """True only for a yes."""
        return self.outcome is QuestionOutcome.ANSWERED and self.choice == "yes"


@dataclass(frozen=True, slots=True)
class Question:
    """An open question as stored. The code that waits for its answer is not part of it.

    Attributes:
        number: the number people refer to it by; never reused.
        people: ids of those who are asked.
        told: those of them who have seen it.
        asked_at, expires_at: on the assistant's clock; 0 if it never expires.
        kept_until: end of its grace period after a restart ended the wait; 0 if there was none.
        for_name: on whose behalf the assistant asks, if it works on a delegated task, else "".
        root: id of the script whose controllers may answer; 0 for the asking assistant's own.
        call: the tool call that a yes will run; empty if code waits for the answer.
        choice, by: an answer given before the code that waits was back, else "".
    """

    asking: ApprovalRequest
    number: int = 0
    people: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    asked_at: float = 0.0
    expires_at: float = 0.0
    kept_until: float = 0.0
    for_name: str = ""
    root: int = 0
    call: Mapping[str, Any] = field(default_factory=dict)
    event: Mapping[str, Any] = field(default_factory=dict)
    choice: str = ""
    by: str = ""

    @property
    def is_waited_for(self) -> bool:
        """True if code waits for the answer, rather than a tool call being run on a yes."""
        return not self.call

    @property
    def due(self) -> float:
        """The last moment at which it can be answered; 0 for none."""
        return min(filter(None, (self.expires_at, self.kept_until)), default=0.0)

    @property
    def answer(self) -> str:
        """The answer in words: `Tom answered yes`; "" without one."""
        return f"{self.by} answered {self.choice}" if self.choice else ""

    def is_over(self, now: float) -> bool:
        """True if it can no longer be answered."""
        return 0 < self.due <= now

    def is_put_to(self, person: str) -> bool:
        """True if this person is asked and has not seen it."""
        return person in self.people and person not in self.told

    def as_stored(self) -> dict[str, Any]:
        """Plain data for JSON, with the fields of the request among the question's own."""
        own = to_stored(self)
        return {**own.pop("asking"), **own}

    @classmethod
    def from_stored(cls, stored: Mapping[str, object]) -> Question:
        """Read what `as_stored` wrote, possibly in another version."""
        asking = from_stored(ApprovalRequest, {"key": "", "kind": "", "prompt": "", **stored})
        return from_stored(cls, {**stored, "asking": asking})

    def line(self) -> str:
        """The line shown to those who are asked."""
        place, what, verb = f"question {self.number}", self._prompt_and_detail(), "Type: "
        if self._is_of_limit:
            place, what, verb = f"{place}, about a limit", f'"{what}"  ', ""
        choices = " | ".join(choice.id for choice in self.asking.choices)
        intro = f"{self._asker()} asks ({place}):"
        return f"{intro} {what} {verb}assistant answer {self.number} {choices}"

    def row(self, *, is_stalled: bool = False) -> str:
        """The question as a row of a list."""
        mark = " (stalled: nobody who was asked is here)" if is_stalled else ""
        who = f"{self._asker()} asks{' about a limit' if self._is_of_limit else ''}"
        return f"{self.number:>4}  {who}: {self._prompt_and_detail()}{mark}"

    @property
    def _is_of_limit(self) -> bool:
        return self.asking.kind.startswith(LIMIT_PREFIX)

    def _asker(self) -> str:
        return f"{self.asking.actor}, for {self.for_name}," if self.for_name else self.asking.actor

    def _prompt_and_detail(self) -> str:
        asking = self.asking
        return f"{asking.prompt} ({asking.detail})" if asking.detail else asking.prompt


def next_for(person: str, questions: Iterable[Question]) -> Question | None:
    """The oldest question a person has not seen; None while another is open before them."""
    ordered = sorted(questions, key=lambda question: question.number)
    if any(person in question.told for question in ordered):
        return None
    return next((question for question in ordered if question.is_put_to(person)), None)
