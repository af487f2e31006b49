"""Conversations with questions about them, read from a file, and the order in which time brings them.

The file is a list of conversations, as JSON: `{id, speakers, turns: [{id, speaker, at, text}],
questions: [{text, category, evidence: [ids of turns]}]}`. The data set that the figures are of
(LoCoMo) may not be copied; it is read where it lies, and nothing of it is printed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

DAY_SECONDS = 86_400.0
MONTH_SECONDS = 30 * DAY_SECONDS
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open domain", 4: "single-hop"}
SOON, MONTH, LATE = "soon", "month", "late"
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
    speakers: list[str] = Field(min_length=1)
    turns: list[Said] = Field(min_length=1)
    questions: list[Question]


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
        if said.id in ids:
            yield f"two turns have the id {said.id!r}; each must have its own"
        if said.speaker not in conversation.speakers:
            names = " or ".join(map(repr, conversation.speakers))
            yield f"turn {said.id!r} is said by {said.speaker!r}; it must be {names}"
        ids.add(said.id)
    for number, question in enumerate(conversation.questions, 1):
        for unknown in sorted(question.evidence - ids):
            yield f"question {number} has the evidence {unknown!r}; it must be the id of a turn"


def sample(
    conversations: Sequence[Conversation], count: int | None, questions: int | None, seed: int
) -> list[Conversation]:
    """The first conversations, with some questions of each; None: all of them."""
    dice = random.Random(seed)
    chosen = []
    for conversation in conversations[:count]:
        left = list(conversation.questions)
        if questions is not None and questions < len(left):
            left = dice.sample(left, questions)
        chosen.append(conversation.model_copy(update={"questions": left}))
    return chosen


def seconds_of(step: Step) -> float:
    """When something is said or asked, in seconds since 1970."""
    return step.at.timestamp() if isinstance(step, Said) else step.at


def asker_of(conversation: Conversation, question: Question) -> str:
    """Who asks: the first of the speakers whom the question does not name, as people do."""
    words = question.text.casefold()
    others = (name for name in conversation.speakers if name.casefold() not in words)
    return next(others, conversation.speakers[0])


def ended_at(conversation: Conversation) -> float:
    """When the last turn was said."""
    return max(map(seconds_of, conversation.turns))


def agenda(conversation: Conversation) -> list[Step]:
    """What is said and asked in order of time: soon after its evidence, a month after, and late."""
    when = {said.id: seconds_of(said) for said in conversation.turns}
    late = ended_at(conversation) + DAY_SECONDS
    steps: list[Step] = list(conversation.turns)
    for question in conversation.questions:
        known = max(when[turn] for turn in question.evidence)
        asker = asker_of(conversation, question)
        for at, protocol in (
            (known + DAY_SECONDS, SOON),
            (known + MONTH_SECONDS, MONTH),
            (late, LATE),
        ):
            steps.append(Asked(at, protocol, question, asker))
    return sorted(steps, key=seconds_of)
