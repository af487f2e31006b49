"""Conversations and questions about them: reading the file, and when what is said and asked.

The file is a list of conversations, as JSON: `{id, speakers, turns: [{id, speaker, at, text}],
questions: [{text, category, evidence: [ids of turns]}]}`. The licence of the data set that the
figures are of lets nobody copy it into a project: it is read in place, and nothing of it is shown.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

HOUR_SECONDS, DAY_SECONDS = 3_600.0, 86_400.0
MONTH_SECONDS = 30 * DAY_SECONDS
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open domain", 4: "single-hop"}
SOON, MONTH, LATE = "soon", "month", "late"
# What the id of an earlier question begins with; no turn of a file may be called so.
ASKED = "asked:"
ASKERS = ("Robin", "Kit", "Sasha")
FORMAT = (
    "it must be a list of {id, speakers, turns: [{id, speaker, at, text}], "
    "questions: [{text, category, evidence: [ids of turns]}]}"
)


class BadFileError(Exception):
    """The file cannot be used; the message says what is wrong, where, and what would be right."""


class Said(BaseModel):
    """One turn: what somebody said, and when."""

    model_config = ConfigDict(frozen=True, strict=True)

    id: str = Field(min_length=1)
    speaker: str = Field(min_length=1)
    at: AwareDatetime = Field(strict=False)
    text: str = Field(min_length=1)


class Question(BaseModel):
    """A question, and the ids of the turns that answer it."""

    model_config = ConfigDict(frozen=True, strict=True)

    text: str = Field(min_length=1)
    category: int = Field(ge=min(CATEGORIES), le=max(CATEGORIES))
    evidence: frozenset[str] = Field(min_length=1, strict=False)


class Conversation(BaseModel):
    """Everything that two people said, and what is asked about it."""

    model_config = ConfigDict(strict=True)

    id: str
    speakers: list[str] = Field(min_length=1, max_length=2)
    turns: list[Said] = Field(min_length=1)
    questions: list[Question] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question at its time.

    Attributes:
        at: seconds since 1970.
        protocol: the row of the table that it counts for.
        asker: who asks.
    """

    at: float
    protocol: str
    question: Question
    asker: str


Step = Said | Asked


def read(path: Path) -> list[Conversation]:
    """The conversations of a file.

    Raises:
        BadFileError: it cannot be read, or is not of the format.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadFileError(f"{path} cannot be read: {error.strerror}; {FORMAT}") from error
    try:
        found = TypeAdapter(list[Conversation]).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = " -> ".join(map(str, first["loc"])) or "the whole file"
        raise BadFileError(f"{path}, {where}: {first['msg']}; {FORMAT}") from error
    if not found:
        raise BadFileError(f"{path} holds no conversation; {FORMAT}")
    for conversation in found:
        for problem in _problems(conversation):
            raise BadFileError(f"{path}, conversation {conversation.id!r}: {problem}")
    return found


def _problems(conversation: Conversation) -> Iterator[str]:
    ids: set[str] = set()
    for said in conversation.turns:
        if said.id.startswith(ASKED):
            yield f"turn {said.id!r} is named as a question; it must begin otherwise than {ASKED!r}"
        if said.id in ids:
            yield f"two turns have the id {said.id!r}; it must be of one"
        if said.speaker not in conversation.speakers:
            names = " or ".join(map(repr, conversation.speakers))
            yield f"turn {said.id!r} is said by {said.speaker!r}; it must be {names}"
        ids.add(said.id)
    for number, question in enumerate(conversation.questions, 1):
        for unknown in sorted(question.evidence - ids):
            yield f"question {number} has the evidence {unknown!r}; it must be the id of a turn"


@dataclass(frozen=True, slots=True)
class Plan:
    """A conversation, and what of its questions is asked.

    Attributes:
        questions: those that are counted.
        earlier: those that the player asks before the others, in the row that tells of that.
    """

    conversation: Conversation
    questions: tuple[Question, ...]
    earlier: tuple[Question, ...]

    def agenda(self) -> list[Step]:
        """All in order of time: a question soon and a month after its evidence, and late."""
        said = self.conversation.turns
        when = {one.id: seconds_of(one) for one in said}
        steps: list[Step] = list(said)
        for question in self.questions:
            known = max(when[turn] for turn in question.evidence)
            steps += (
                self._ask(known + DAY_SECONDS, SOON, question),
                self._ask(known + MONTH_SECONDS, MONTH, question),
                self._ask(max(when.values()) + DAY_SECONDS, LATE, question),
            )
        return sorted(steps, key=seconds_of)

    def agenda_of_earlier(self, counts: Sequence[int]) -> list[Step]:
        """The same questions late after none, and after so many others of the same player.

        Those others are asked an hour apart and kept as turns are; none has evidence in common
        with a question that is counted. A day after the last of them it is counted.
        """
        known = frozenset[str]().union(*(question.evidence for question in self.earlier))
        counted = [one for one in self.questions if one.evidence.isdisjoint(known)]
        steps: list[Step] = sorted(self.conversation.turns, key=seconds_of)
        now, done = seconds_of(steps[-1]), 0
        for count in (0, *counts):
            for number in range(done, count):
                now += HOUR_SECONDS
                steps.append(self._said(now, number))
            now, done = now + DAY_SECONDS, count
            steps += (self._ask(now, f"after {count}", question) for question in counted)
        return steps

    def _ask(self, at: float, protocol: str, question: Question) -> Asked:
        return Asked(at, protocol, question, asker_of(self.conversation))

    def _said(self, at: float, number: int) -> Said:
        """An earlier question, as something that was said."""
        return Said(
            id=f"{ASKED}{number}",
            speaker=asker_of(self.conversation),
            at=datetime.fromtimestamp(at, UTC),
            text=self.earlier[number].text,
        )


def asker_of(conversation: Conversation) -> str:
    """Whoever asks: neither of the speakers, as they would say "I" of what is asked about them."""
    return next(name for name in ASKERS if name not in conversation.speakers)


def seconds_of(step: Step) -> float:
    """When something is said or asked, in seconds since 1970."""
    return step.at.timestamp() if isinstance(step, Said) else step.at


def plan(
    conversations: Sequence[Conversation], most: int | None, earlier: int, seed: int
) -> list[Plan]:
    """What is asked of each conversation, by chance.

    Args:
        most: questions that are counted of each; None: all of them.
        earlier: how many others are asked before; none where there are not twice as many.
    """
    dice = random.Random(seed)
    plans = []
    for conversation in conversations:
        questions = dice.sample(conversation.questions, len(conversation.questions))
        before = earlier if 2 * earlier <= len(questions) else 0
        counted = tuple(questions[before:] + questions[:before])[:most]
        plans.append(Plan(conversation, counted, tuple(questions[:before])))
    return plans
