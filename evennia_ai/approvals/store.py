"""The open questions of all assistants, as they are stored; and why the last ones were closed."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig

from evennia_ai.core.safety.questions import Question
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

COUNTER = "evennia_ai_questions"
ASSISTANTS = {"db_tags__db_key": "ai_assistant", "db_tags__db_category": "system"}
MOST_REMEMBERED = 500

Entry = tuple[Any, Question]
_closed: OrderedDict[int, str] = OrderedDict()


def next_number() -> int:
    """A number that no question had before."""
    number = int(ServerConfig.objects.conf(COUNTER, default=0)) + 1
    ServerConfig.objects.conf(COUNTER, number)
    return number


def stored(script: Assistant) -> list[Question]:
    """All that is stored of an assistant's questions."""
    return [Question.from_stored(item) for item in state.read(script, "questions")]


def pending(script: Assistant) -> list[Question]:
    """The questions of an assistant that can be answered now, the oldest first."""
    now = script.clock.seconds()
    return [item for item in stored(script) if not (item.is_over(now) or item.choice)]


def put(script: Assistant, *questions: Question) -> None:
    """Store questions, each in the place of what had its number."""
    new = {question.number: question for question in questions}
    kept = {question.number: question for question in stored(script)} | new
    _write(script, list(kept.values()))


def remove(script: Assistant, *numbers: int) -> None:
    """Take questions out."""
    _write(script, [item for item in stored(script) if item.number not in numbers])


def _write(script: Assistant, questions: list[Question]) -> None:
    ordered = sorted(questions, key=lambda question: question.number)
    state.write(script, questions=[question.as_stored() for question in ordered])


def everywhere() -> list[Entry]:
    """The open questions of all assistants, the oldest first."""
    entries = [(script, question) for script in assistants() for question in pending(script)]
    return sorted(entries, key=lambda entry: entry[1].number)


def assistants() -> list[Any]:
    """The scripts of all assistants that run."""
    return [item for item in ScriptDB.objects.filter(**ASSISTANTS) if _is_awake(item)]


def _is_awake(script: Assistant) -> bool:
    return getattr(script, "work", None) is not None


def find(number: int) -> Entry | None:
    """The open question of that number."""
    return next((entry for entry in everywhere() if entry[1].number == number), None)


def find_key(key: str) -> Entry | None:
    """The question stored under a key for whoever waits, answered or not, and not over."""
    for script in assistants():
        now = script.clock.seconds()
        for question in stored(script):
            is_meant = question.is_waited_for and question.asking.key == key
            if is_meant and not question.is_over(now):
                return script, question
    return None


def note_closed(number: int, why: str) -> None:
    """Remember why a question is closed, for whoever answers too late."""
    _closed[number] = why
    while len(_closed) > MOST_REMEMBERED:
        _closed.popitem(last=False)


def why_closed(number: int) -> str:
    """The reason why a question is closed, in words, or "" when nobody remembers it."""
    return _closed.get(number, "")
