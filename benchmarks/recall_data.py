"""Conversations and questions about them: the file format, and the times of turns and questions.

The file is a list of conversations, as JSON: `{id, speakers, turns: [{id, speaker, at, text}],
questions: [{text, category, evidence: [ids of turns]}]}`. The licence of the data set behind our
figures forbids copying it into a project: it is read in place, and none of it is shown.
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
# Prefix of the ids of earlier questions; no turn of a file may have such an id.
ASKED = "asked:"
ASKERS = ("Robin", "Kit", "Sasha")
FORMAT = (
    "it must be a list of {id, speakers, turns: [{id, speaker, at, text}], "
    "questions: [{text, category, evidence: [ids of turns]}]}"
)


class BadFileError(Exception):
    """The file cannot be used; the message says what is wrong, where, and what is expected."""


class Said(BaseModel):
    """One turn: speaker, text and time."""

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
    """Everything that two people said, and the questions about it."""

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
        asker: the character that asks.
    """

    at: float
    protocol: str
    question: Question
    asker: str


Step = Said | Asked


def read(path: Path) -> list[Conversation]:
    """Return the conversations of a file.

    Raises:
        BadFileError: if it cannot be read, or has another format.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadFileError(f"{path} cannot be read: {error.strerror}; {FORMAT}") from error
    try:
        talks = TypeAdapter(list[Conversation]).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = " -> ".join(map(str, first["loc"])) or "the whole file"
        raise BadFileError(f"{path}, {where}: {first['msg']}; {FORMAT}") from error
    if not talks:
        raise BadFileError(f"{path} holds no conversation; {FORMAT}")
    for conversation in talks:
        for problem in _problems(conversation):
            raise BadFileError(f"{path}, conversation {conversation.id!r}: {problem}")
    return talks


def _problems(conversation: Conversation) -> Iterator[str]:
    ids: set[str] = set()
    for turn in conversation.turns:
        if turn.id.startswith(ASKED):
            yield f"turn {turn.id!r} is named as a question; it must begin otherwise than {ASKED!r}"
        if turn.id in ids:
            yield f"two turns have the id {turn.id!r}; it must be of one"
        if turn.speaker not in conversation.speakers:
            names = " or ".join(map(repr, conversation.speakers))
            yield f"turn {turn.id!r} is said by {turn.speaker!r}; it must be {names}"
        ids.add(turn.id)
    for number, question in enumerate(conversation.questions, 1):
        for unknown in sorted(question.evidence - ids):
            yield f"question {number} has the evidence {unknown!r}; it must be the id of a turn"


@dataclass(frozen=True, slots=True)
class Plan:
    """A conversation, and the questions to ask.

    Attributes:
        questions: those that are counted.
        earlier: those that the player asks before, in the rows "after n questions".
    """

    conversation: Conversation
    questions: tuple[Question, ...]
    earlier: tuple[Question, ...]

    def agenda(self) -> list[Step]:
        """Return all turns and questions in order of time: soon, a month after, and late."""
        turns = self.conversation.turns
        when = {one.id: seconds_of(one) for one in turns}
        steps: list[Step] = list(turns)
        for question in self.questions:
            known = max(when[turn] for turn in question.evidence)
            steps += (
                self._ask(known + DAY_SECONDS, SOON, question),
                self._ask(known + MONTH_SECONDS, MONTH, question),
                self._ask(max(when.values()) + DAY_SECONDS, LATE, question),
            )
        return sorted(steps, key=seconds_of)

    def agenda_of_earlier(self, counts: Sequence[int]) -> list[Step]:
        """Return the late questions after none, and after so many others of the same player.

        The others are asked an hour apart and stored like turns; none shares evidence with a
        counted question. The counted question comes a day after the last of them.
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
    """Return the asker: neither of the speakers, since they would say "I" about themselves."""
    return next(name for name in ASKERS if name not in conversation.speakers)


def seconds_of(step: Step) -> float:
    """Return the time of a turn or question, in seconds since 1970."""
    return step.at.timestamp() if isinstance(step, Said) else step.at


def plan(
    conversations: Sequence[Conversation], most: int | None, earlier: int, seed: int
) -> list[Plan]:
    """Choose the questions of each conversation at random.

    Args:
        most: questions of each conversation that are counted; None: all.
        earlier: number of other questions before; none if there are not twice as many.
    """
    dice = random.Random(seed)
    plans = []
    for conversation in conversations:
        questions = dice.sample(conversation.questions, len(conversation.questions))
        before = earlier if 2 * earlier <= len(questions) else 0
        counted = tuple(questions[before:] + questions[:before])[:most]
        plans.append(Plan(conversation, counted, tuple(questions[:before])))
    return plans
