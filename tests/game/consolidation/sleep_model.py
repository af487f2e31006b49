"""A model that does what it is asked at night, always in the same way."""

import json
import re
from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import ScriptedModel, completion

TOKENS = {"prompt_tokens": 900, "completion_tokens": 80}
# The kinds of prompts, by words that only that prompt has.
KINDS = {
    "Below are entries, each": "importance",
    "entries of its diary": "facts",
    "observations of one being": "portrait",
    "most telling general questions": "questions",
    "Write up to five insights": "insights",
    "older part of its conversation": "summary",
}
_LINE = re.compile(r'^\d+(?: \(\w+ \d+ \w+ \d+\))?: (".*")$', re.MULTILINE)


def kind_of(body: Mapping[str, Any]) -> str:
    system = body["messages"][0]["content"]
    return next((kind for words, kind in KINDS.items() if words in system), "turn")


def told(body: Mapping[str, Any]) -> str:
    return body["messages"][-1]["content"]


def lines(body: Mapping[str, Any], title: str = "Entries") -> list[str]:
    parts = re.split(r"^([A-Z][a-z ]+):$", told(body), flags=re.MULTILINE)
    block = dict(zip(parts[1::2], parts[2::2], strict=True)).get(title, "")
    return [json.loads(text) for text in _LINE.findall(block)]


def topic(text: str) -> str:
    return next((word for word in ("harbour", "cellar", "attic") if word in text), "weather")


def content_for(body: Mapping[str, Any]) -> str:
    kind, about = kind_of(body), topic(told(body))
    if kind == "importance":
        count = len(lines(body))
        return json.dumps([{"entry": i, "importance": 7} for i in range(1, count + 1)])
    if kind == "facts":
        pairs = enumerate(lines(body), 1)
        return json.dumps([{"fact": f"It is told: {t}", "entries": [i]} for i, t in pairs])
    if kind == "portrait":
        return json.dumps({"attributes": [f"Tom knows the {about}."], "favour": 1})
    if kind == "questions":
        return json.dumps([f"Who minds the {about}?", f"What becomes of the {about}?"])
    if kind == "insights":
        return json.dumps([{"insight": f"People mind the {about}.", "entries": [1]}])
    return "They spoke about the weather."


def answer_to(body: Mapping[str, Any]) -> bytes:
    return completion(content_for(body), usage=TOKENS)


class NightModel(ScriptedModel):
    """Answers what the night asks, unless a test gives `answers`; turns wait for `waiting`.

    Attributes:
        down: the exception that every call fails with, or None.
        barred: a word that the service refuses in a request; "": none.
        holds: the kinds of requests that are held in `waiting`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.down: Exception | None = None
        self.barred = ""
        self.holds: set[str] = {"turn"}

    @property
    def kinds(self) -> list[str]:
        return [kind_of(body) for body in self.bodies]

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        if self.answers or kind_of(body) in self.holds:
            return super().post(body)
        self.bodies.append(body)
        if self.barred and self.barred in told(body):
            return fail(ModelStatusError(400, "content_filter"))
        return succeed(answer_to(body)) if self.down is None else fail(self.down)
