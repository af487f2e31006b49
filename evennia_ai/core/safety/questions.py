"""Questions to people: what is asked, what answers it, how it is told and how it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.plain_data import from_stored, to_stored

MOST_SHOWN = 400
MOST_DETAIL = 200
MOST_NAME = 60
LIMIT_PREFIX, TOOL_PREFIX = "safety.limit.", "tool."


class QuestionOutcome(StrEnum):
    """The end of a question."""

    ANSWERED = "answered"
    TIMEOUT = "timeout"
    NOBODY = "nobody"
    DISCARDED = "discarded"
    CROWDED = "crowded"
    MOOT = "moot"


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that can be given.

    Attributes:
        hotkey: a letter that stands for it.
    """

    id: str
    label: str = ""
    hotkey: str = ""

    def cleaned(self) -> Choice:
        """The same, harmless to print."""
        return Choice(*(one_line(text, MOST_NAME) for text in (self.id, self.label, self.hotkey)))

    def __str__(self) -> str:
        return f"{self.id} ({self.hotkey})" if self.hotkey else self.id


YES_NO = (Choice("yes", "yes", "y"), Choice("no", "no", "n"))


def _folded(text: str) -> str:
    return text.strip().casefold()


def match(choices: Sequence[Choice], text: str) -> Choice | None:
    """The choice that a typed answer means: by id, by label or by hotkey, in any case.

    What stands for several choices stands for none.
    """
    typed = _folded(text)
    for name in ("id", "label", "hotkey") if typed else ():
        found = [choice for choice in choices if _folded(getattr(choice, name)) == typed]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def expected(choices: Iterable[Choice]) -> str:
    """The answers that can be given, for people: `yes (y), no (n)`."""
    return ", ".join(map(str, choices))


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request for a person's decision.

    Attributes:
        key: whoever asks the same key while it is open shares the question and its answer.
        kind: what it is about, such as `safety.limit.max_iterations` or `tool.dig`.
        actor: the assistant that asks, by name.
    """

    key: str
    kind: str
    prompt: str
    detail: str = ""
    actor: str = ""
    choices: tuple[Choice, ...] = YES_NO

    def cleaned(self) -> ApprovalRequest:
        """The same on one line each, without escape codes, and no longer than people read."""
        return replace(
            self,
            prompt=one_line(self.prompt, MOST_SHOWN),
            detail=one_line(self.detail, MOST_DETAIL),
            actor=one_line(self.actor, MOST_NAME),
            choices=tuple(choice.cleaned() for choice in self.choices),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a question, with the choice and whose it was.

    Attributes:
        choice: the id of the chosen answer, or "".
        by: who answered, or "".
    """

    outcome: QuestionOutcome
    choice: str = ""
    by: str = ""

    @property
    def is_yes(self) -> bool:
        """True for a yes and nothing else."""
        return self.outcome is QuestionOutcome.ANSWERED and self.choice == "yes"


@dataclass(frozen=True, slots=True)
class Question:
    """An open question, as it is stored. Whoever waits for it is not part of it.

    Attributes:
        number: what people call it by; no two questions ever have the same.
        people: ids of those who are asked.
        told: those of them who have seen it.
        asked_at, expires_at: on the assistant's clock; 0: it never expires.
        kept_until: until when it is kept since a restart took away whoever waited; 0: it did not.
        for_name: on whose behalf, where the asker does a task of somebody else's, else "".
        root: number of the script whose controllers may answer; 0: that of the asker.
        call: the call that is run on a yes; empty where somebody waits for the answer.
        event: what the asker was at.
        choice, by: an answer that came before whoever asked was back, else "".
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
        """True where somebody goes on with the answer, instead of a call that is run on a yes."""
        return not self.call

    @property
    def due(self) -> float:
        """The last moment at which it can be answered; 0: there is none."""
        return min(filter(None, (self.expires_at, self.kept_until)), default=0.0)

    @property
    def answer(self) -> str:
        """The answer and whose it was, in words: `Tom answered yes`; "" without one."""
        return f"{self.by} answered {self.choice}" if self.choice else ""

    def is_over(self, now: float) -> bool:
        """True after the last moment at which it can be answered."""
        return 0 < self.due <= now

    def is_put_to(self, person: str) -> bool:
        """True where this person is asked and has not seen it."""
        return person in self.people and person not in self.told

    def as_stored(self) -> dict[str, Any]:
        """Plain data, fit for JSON; the request stands among the question's own fields."""
        own = to_stored(self)
        return {**own.pop("asking"), **own}

    @classmethod
    def from_stored(cls, stored: Mapping[str, object]) -> Question:
        """Read back what `as_stored` wrote, perhaps by another version."""
        asking = from_stored(ApprovalRequest, {"key": "", "kind": "", "prompt": "", **stored})
        return from_stored(cls, {**stored, "asking": asking})

    def line(self) -> str:
        """It as those are told who are asked."""
        what = f'"{self._words()}"  ' if self._is_of_limit else self._words()
        verb = "" if self._is_of_limit else "Type: "
        choices = " | ".join(choice.id for choice in self.asking.choices)
        return f"{self._head()} {what} {verb}assistant answer {self.number} {choices}"

    def row(self, *, is_stalled: bool = False) -> str:
        """It as one of several in a list."""
        mark = " (stalled: nobody who was asked is here)" if is_stalled else ""
        who = f"{self._who()} asks{', from a limit' if self._is_of_limit else ''}"
        return f"{self.number:>4}  {who}: {self._words()}{mark}"

    @property
    def _is_of_limit(self) -> bool:
        return self.asking.kind.startswith(LIMIT_PREFIX)

    def _who(self) -> str:
        return f"{self.asking.actor}, for {self.for_name}," if self.for_name else self.asking.actor

    def _head(self) -> str:
        place = f"question {self.number}{', from a limit' if self._is_of_limit else ''}"
        return f"{self._who()} asks ({place}):"

    def _words(self) -> str:
        asking = self.asking
        return f"{asking.prompt} ({asking.detail})" if asking.detail else asking.prompt


def next_for(person: str, questions: Iterable[Question]) -> Question | None:
    """The oldest question that a person was not told of; None while another is before them."""
    ordered = sorted(questions, key=lambda question: question.number)
    if any(person in question.told for question in ordered):
        return None
    return next((question for question in ordered if question.is_put_to(person)), None)
