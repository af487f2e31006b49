"""Size of prompts: of a trivial whisper, of requests that need a tool, and of a day of play.

    TIKTOKEN_CACHE_DIR=<folder with tiktoken's files> python -m benchmarks.prompts [--questions 120]

Messages, tools and schemas are counted as they are sent, with tiktoken's `o200k_base` if its file
is found, and with our own estimate. Compared in the same run: all tools shown, and the prompt of
`evennia.contrib.rpg.llm`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scene import set_up_game
from evennia_ai.core.turn.tokens import count_message, estimate
from evennia_ai.llm.token_counter import load_encoding
from tests.asked import AT_HAND, SET_ASIDE, equip, tally

TRIVIAL = "hello, who are you?"
PERSONA = "Edda copies old charts and loves a good riddle."
ANSWER = "The chart shows the harbour as it was before the flood; the ink has faded, I am afraid."
AIM = 1500
SECONDS_BETWEEN = 15
# Small talk; every fourth line is a request that needs a tool.
CHAT = (
    "how is the weather up there?",
    "I had a long journey",
    "do you like tea?",
    "my sister Anna lives in Greyport",
    "tell me a riddle",
    "I don't get it",
    "haha, nice one",
    "what is a chart good for?",
    "have you ever been at sea?",
    "that is sad",
    "do you know the captain?",
    "I will visit you again",
)
CHAT_BEFORE_REQUEST = 4
TOKENS_OF_CALL = 20
# About three of ten answers take a second call, for a look or a tool.
CALLS_PER_ANSWER = 1.3
Count = Callable[[str], int]
COUNTS: Mapping[str, Count] = {
    name: count
    for name, count in (("o200k_base", load_encoding("o200k_base")), ("estimate", estimate))
    if count is not None
}


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of one request, by purpose."""

    rules: int
    moment: int
    tools: int

    @classmethod
    def of(cls, body: Mapping[str, Any], count: Count) -> Size:
        """Count a request's body: the system message, all other messages, the tools."""
        sizes = [count_message(message, count) for message in body["messages"]]
        tools = count(json.dumps(body["tools"])) if body.get("tools") else 0
        return cls(sizes[0], sum(sizes[1:]), tools)

    @property
    def all(self) -> int:
        """Sum of all parts."""
        return self.rules + self.moment + self.tools

    def row(self, name: str, counted: str, stock: int) -> str:
        """Return a line of the table, with the share of each part."""
        parts = (self.rules, self.moment, self.tools)
        shares = " | ".join(f"{part} ({part / self.all:.0%})" for part in parts)
        return f"| {name} | {counted} | {self.all} | {shares} | {self.all / stock:.1f} |"


class Model:
    """A model that answers every request with a whisper, and stores the bodies."""

    def __init__(self) -> None:
        arguments = json.dumps({"target": "Tom", "message": ANSWER})
        call = {"id": "call_1", "type": "function"}
        call["function"] = {"name": "whisper", "arguments": arguments}  # type: ignore[assignment]
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        self._answer = json.dumps({"choices": [choice]}).encode()
        self.bodies: list[Mapping[str, Any]] = []

    def post(self, body: Mapping[str, Any]) -> Any:
        """Answer one request."""
        from twisted.internet.defer import succeed

        self.bodies.append(body)
        return succeed(self._answer)


class Room:
    """Tom's room, with assistants made by the steps of the README."""

    def __init__(self) -> None:
        from evennia.objects.objects import DefaultCharacter, DefaultRoom
        from evennia.utils.create import create_object
        from twisted.internet.task import Clock

        from evennia_ai.runtime import services

        self.clock, self.model = Clock(), Model()
        services.pool().set_transport(services.endpoint(), self.model)
        self.room = create_object(DefaultRoom, "Chart room", nohome=True)
        self.tom = create_object(DefaultCharacter, "Tom", self.room, home=self.room)
        self._made = 0

    def assistant(self) -> Any:
        """Return a fresh assistant."""
        from evennia_ai.operations import create_assistant

        self._made += 1
        name = "Edda" + "a" * (self._made - 1)
        result = create_assistant(name, location=self.room, persona=PERSONA)
        assert result.ok, result.message
        script = result.data.script
        script.clock = self.clock
        return script

    def ask(self, script: Any, text: str) -> Mapping[str, Any]:
        """Whisper and wait for the answer; return the body of its last request."""
        from twisted.internet import reactor

        self.clock.advance(SECONDS_BETWEEN)
        before = len(self.model.bodies)
        self.tom.at_say(text, receivers=[script.obj], whisper=True)
        while script.work.inbox or script.work.is_ticking:
            reactor.iterate(0)  # type: ignore[attr-defined]
        assert len(self.model.bodies) > before, "it did not answer"
        return self.model.bodies[-1]


@contextmanager
def every_tool() -> Iterator[None]:
    """Show all tools within the block."""
    from django.test.utils import override_settings

    with override_settings(EVENNIA_AI_TOOLS_BY_NEED=False):
        yield


def stock_prompt(room: Room) -> str:
    """Return the prompt that the contrib's character would send for the same words."""
    from evennia.contrib.rpg.llm.llm_npc import LLMNPC
    from evennia.utils.create import create_object

    npc = create_object(LLMNPC, "Edda of the contrib", room.room, home=room.room)
    npc.db.desc = PERSONA
    npc._add_to_memory(room.tom, room.tom, TRIVIAL)
    return str(npc.build_prompt(room.tom, TRIVIAL))


def trivial(room: Room) -> bool:
    """Print the table of a trivial whisper; return whether it is as small as it should be."""
    now = room.ask(room.assistant(), TRIVIAL)
    with every_tool():
        before = room.ask(room.assistant(), TRIVIAL)
    stock = stock_prompt(room)
    print(f"\n{TRIVIAL!r}, whispered to a fresh assistant: tokens\n")
    print("| prompt | counted by | all | rules, persona | the moment | tools | by the contrib's |")
    print("|---|---|---|---|---|---|---|")
    is_small = True
    for name, count in COUNTS.items():
        beside = count(stock)
        size = Size.of(now, count)
        print(Size.of(before, count).row(f"{len(before['tools'])} tools, all", name, beside))
        print(size.row(f"{len(now['tools'])} tools, by need", name, beside))
        print(f"| contrib.rpg.llm | {name} | {beside} | | | | 1 |")
        is_small = is_small and size.all <= AIM
    return is_small


def requests(room: Room) -> bool:
    """Print how many requests are shown their tool; return whether it is enough."""
    script = room.assistant()
    equip(script)
    print("\nrequests that each need a certain tool\n")
    print("| requests | shown at once | after one look | out of reach | tools shown |")
    print("|---|---|---|---|---|")
    is_good = True
    for name, asked in (("the words were chosen with", AT_HAND), ("the others", SET_ASIDE)):
        result = tally(script, asked)
        at_once, look = len(result.at_once), len(result.one_look_away)
        shown = f"{statistics.fmean(result.sizes):.0f}"
        print(
            f"| {len(asked)}, {name} | {at_once} | {look} | {len(result.unreachable)} | {shown} |"
        )
        is_good = is_good and not result.unreachable
        is_good = is_good and (asked is not AT_HAND or result.share_at_once >= 0.9)
    return is_good


def talk(room: Room, questions: int) -> list[int]:
    """Return the tokens of each answer of a long talk, prompt and answer together."""
    from evennia_ai.runtime import state

    count = next(iter(COUNTS.values()))
    script = room.assistant()
    state.write(script, compact_enabled=False)  # summaries would count as tokens of this talk
    requests = [request.text for request in (*AT_HAND, *SET_ASIDE)]
    sizes = []
    for number in range(questions):
        texts = CHAT if number % CHAT_BEFORE_REQUEST else requests
        body = room.ask(script, texts[number % len(texts)])
        sizes.append(Size.of(body, count).all + count(ANSWER) + TOKENS_OF_CALL)
    return sizes


def day(room: Room, questions: int) -> None:
    """Print the tokens of a day of play."""
    print(f"\n{questions} questions of one player, a call each, by {next(iter(COUNTS))}\n")
    print("| tools | first | median | highest | all | with 1.3 calls an answer |")
    print("|---|---|---|---|---|---|")
    with every_tool():
        _print_day("all", talk(room, questions))
    _print_day("by need", talk(room, questions))


def _print_day(name: str, sizes: Sequence[int]) -> None:
    whole = sum(sizes)
    figures = (sizes[0], statistics.median(sizes), max(sizes), whole, whole * CALLS_PER_ANSWER)
    print(f"| {name} | {' | '.join(f'{figure:,.0f}' for figure in figures)} |")


def main() -> None:
    """Make a game, count, and report what misses its aim."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=120, help="of the day of play; 0: none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        set_up_game(Path(folder), "http://127.0.0.1:9")
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        from django.conf import settings

        settings.EVENNIA_AI_MEMORY_STORE = "none"
        room = Room()
        is_small, is_reached = trivial(room), requests(room)
        if options.questions:
            day(room, options.questions)
    if not (is_small and is_reached):
        raise SystemExit(f"not as it should be: at most {AIM} tokens, and every tool in reach")


if __name__ == "__main__":
    main()
