"""A stand-in for a model in the scripted week, deterministic by its input.

Spoken to, it says thank you the way it was spoken to. At night it extracts what is worth keeping by
the shape of the sentences alone; it makes nothing up, and knows nothing of the questions.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, succeed

from evennia_ai.core.memory.extraction import FACTS, SCORING
from evennia_ai.core.memory.portraits import PORTRAIT
from evennia_ai.core.memory.reflection import INSIGHTS, QUESTIONS
from evennia_ai.llm import scripted
from evennia_ai.llm.scripted import completion

THANKS = "Thank you for telling me."
NOTHING = "They talked of the weather and of the day."
USAGE = {"prompt_tokens": 200, "completion_tokens": 40}
MOST_POINTS = 8
_TITLE = re.compile(r"(?m)^(Entries|Known already|Statements|Observations|The being|Question):\n")
_LINE = re.compile(r"(?m)^(\d+)(?: \(\w+ \d+ \w+ \d+\))?: (\".*\")$")
_SPOKEN = re.compile(r"(?P<name>[A-Z]\w+)[^\"]*(?P<words>\"(?:[^\"\\]|\\.)*\")")
_WORTH = re.compile(r"(?:I|My|The|There is|They say|People say|Somebody said|Lavender|Green|Straw)")
_SMALL = re.compile(
    r"\?$|^I will be at|^I am a little|at the inn|by the \w+\.$|^My \w+ is [\w ]+ again\.$"
)
_CHANGED = re.compile(r"\b(?:now|moved|any more|again|grown|new)\b")
_VERBS = {
    "am": "is",
    "have": "has",
    "was": "was",
    **dict.fromkeys(("will", "must", "cannot", "need", "could"), ""),
}
_PLAIN = re.compile(r"(?:owe|keep|get|play|drink|hate|bring|water|write|dream|promise)\b")
_COMMON = frozenset(("that", "with", "this", "called", "from", "have", "name", "when", "what"))


class WeekModel:
    """A transport that answers at once.

    Attributes:
        prompts: the text sent to the model in each turn; the reader empties it.
        calls: the number of calls of each purpose.
    """

    rate_limit_info = None

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.calls: dict[str, int] = {}

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        messages: Sequence[Mapping[str, Any]] = body["messages"]
        if any(tool["function"]["name"] == "say" for tool in body.get("tools", ())):
            self._count("turn")
            self.prompts.append("\n".join(str(m.get("content") or "") for m in messages))
            return succeed(completion(None, _thanks(messages), usage=USAGE))
        name, answer = night_answer(str(messages[0]["content"]), str(messages[-1]["content"]))
        self._count(name)
        return succeed(completion(answer, usage=USAGE))

    def _count(self, name: str) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1


def _thanks(messages: Sequence[Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
    heard = next(str(m["content"]) for m in reversed(messages) if m["role"] == "user")
    name, arguments = scripted.answer(heard)
    return name, {**arguments, "message": THANKS}


def night_answer(prompt: str, told: str) -> tuple[str, str]:
    """Return the purpose of a prompt outside of turns, and the answer to it."""
    parts = _parts(told)
    for known, name, answer in _ANSWERS:
        if known[:150] in prompt:
            return name, json.dumps(answer(parts))
    return "summary", NOTHING


def _parts(told: str) -> dict[str, list[str]]:
    """Return the lists of a prompt by their titles."""
    pieces = _TITLE.split(told)[1:]
    return {
        title: [json.loads(text) for _, text in _LINE.findall(body)]
        for title, body in zip(pieces[::2], pieces[1::2], strict=True)
    }


def third_person(text: str) -> str:
    """Return the content of an entry in the third person, or "" for small talk."""
    spoken = _SPOKEN.match(text)
    name, words = (spoken["name"], json.loads(spoken["words"])) if spoken else ("", text)
    if _SMALL.search(words) or not _WORTH.match(words):
        return ""
    if not name:
        return words

    def tell(match: re.Match[str]) -> str:
        verb = match["verb"]
        if _PLAIN.fullmatch(verb):
            return f"{name} {verb}s"
        return f"{name} {_VERBS.get(verb) or verb}"

    line = re.sub(r"\bI (?P<verb>\w+)", tell, words)
    line = re.sub(r"\b[Mm]y\b", f"{name}'s", line)
    return re.sub(r"\b(?:me|mine|I)\b", name, line)


def _scores(parts: Mapping[str, list[str]]) -> list[Any]:
    return [
        {"entry": number, "importance": 7 if third_person(text) else 2}
        for number, text in enumerate(parts.get("Entries", ()), 1)
    ]


def _facts(parts: Mapping[str, list[str]]) -> list[Any]:
    known = parts.get("Known already", [])
    result = []
    for number, entry in enumerate(parts.get("Entries", ()), 1):
        if text := third_person(entry):
            replaced = [n for n, old in enumerate(known, 1) if _is_over(old, text)]
            about = text.split("'")[0].split()[0]
            result.append(
                {
                    "fact": text,
                    "entries": [number],
                    "importance": 7,
                    "about": about,
                    "replaces": replaced,
                }
            )
    return result


def _is_over(old: str, new: str) -> bool:
    """True where a known fact is told again as something that changed."""
    shared = _telling(old) & _telling(new)
    return old != new and bool(shared) and _CHANGED.search(new) is not None and _whose(old, new)


def _telling(text: str) -> set[str]:
    words = {word.casefold() for word in re.findall(r"[a-z]{4,}", text)}
    return words - _COMMON


def _whose(old: str, new: str) -> bool:
    return re.split(r"\W", old)[0] == re.split(r"\W", new)[0]


def _portrait(parts: Mapping[str, list[str]]) -> dict[str, Any]:
    seen = [text for entry in parts.get("Observations", ()) if (text := third_person(entry))]
    known = [
        old for old in parts.get("Known already", ()) if not any(_is_over(old, new) for new in seen)
    ]
    return {"attributes": [*known, *seen][-MOST_POINTS:], "favour": 0}


def _questions(_: Mapping[str, list[str]]) -> list[str]:
    return ["What do people own and where do they keep it?", "Who owes what to whom?"]


def _insights(parts: Mapping[str, list[str]]) -> list[Any]:
    """Return the first statement; it is known already, so nothing false comes of it."""
    texts = {n: third_person(text) for n, text in enumerate(parts.get("Statements", ()), 1)}
    pairs = [(n, text) for n, text in texts.items() if text]
    return [{"insight": text, "entries": [n], "importance": 6} for n, text in pairs[:1]]


_ANSWERS: tuple[tuple[str, str, Callable[[Mapping[str, list[str]]], Any]], ...] = (
    (SCORING, "importance", _scores),
    (FACTS, "facts", _facts),
    (PORTRAIT, "profiles", _portrait),
    (QUESTIONS.partition("{count}")[0], "questions", _questions),
    (INSIGHTS, "insights", _insights),
)
