"""`assistant why`: of one message, of a day, or of words that were said publicly."""

from __future__ import annotations

import re
from dataclasses import dataclass

from twisted.internet import reactor

from evennia_ai import operations
from evennia_ai.commands.base import REVEAL
from evennia_ai.commands.words import Subcommand, WordCommand
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.memory.own import person_id
from evennia_ai.operations.rights.private_words import Look
from evennia_ai.operations.times import WHEN, Span, span_of
from evennia_ai.operations.turns import traces

MOST_DIGITS = 12
FULL = "full"
BACKWARDS = f" {REVEAL} {FULL}"
_QUOTED = re.compile(r'"([^"]*)"?')
_PAGE = re.compile(r"(?:^|\s)before (\d{1,18})$", re.ASCII)
_AGO_WORDS, _DAY_WORDS = 3, 1


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """The request typed after `assistant why`.

    Attributes:
        name: of an assistant, "" where none is named.
        number: of a message, None where none is.
        span: a time, None where none is named.
        words: what was said; "" where none are.
        before: where the page begins, None for the newest.
        is_full: all of it is wanted.
    """

    name: str
    number: int | None = None
    span: Span | None = None
    words: str = ""
    before: int | None = None
    is_full: bool = False

    @property
    def is_list(self) -> bool:
        """True where several messages are asked for."""
        return self.span is not None or bool(self.words)


def read(line: str, now: float) -> WhyRequest:
    """Take a line apart: name, number or time or quoted words, page, and `full`.

    Args:
        now: seconds since 1970.
    """
    rest, _, last = line.rpartition(" ")
    is_full = last.casefold() == FULL
    line = rest.rstrip() if is_full else line
    before = None
    if found := _PAGE.search(line):
        before, line = int(found[1]), line[: found.start()].rstrip()
    words = ""
    if found := _QUOTED.search(line):
        words = " ".join(found[1].split())[: traces.LONGEST_SEARCH]
        line = f"{line[: found.start()]} {line[found.end() :]}"
    line, span = _without_time(" ".join(line.split()), now)
    name, _, number = line.rpartition(" ") if line[-1:].isdecimal() else (line, "", "")
    if span is not None or not (number.isascii() and number.isdecimal()):
        name, number = line, ""
    wanted = int(number[:MOST_DIGITS]) if number else None
    return WhyRequest(name.strip(), wanted, span, words, before, is_full)


def _without_time(line: str, now: float) -> tuple[str, Span | None]:
    """A line without the time at its end, and that time."""
    told = line.split()
    for count in (_AGO_WORDS, _DAY_WORDS):
        if len(told) >= count and (span := span_of(" ".join(told[-count:]), now)) is not None:
            return " ".join(told[:-count]), span
    return line, None


class WhyWords(WordCommand):
    """The word `why`."""

    def _why(self, rest: str) -> None:
        """`why ada`, `why ada 12`, `why ada yesterday`, `why ada "lamp"`; all with `full`."""
        if rest.casefold().endswith(BACKWARDS):
            rest = f"{rest[: -len(BACKWARDS)]} {FULL} {REVEAL}"
        rest, look = self.look_of(rest)
        name = read(rest, reactor.seconds()).name
        script = (None if name else operations.last_addressed(self.caller)) or self.pick(name)
        if script is None:
            return
        # Read again by the clock of the one that is meant, which only now is known.
        asked = read(rest, script.clock.seconds())
        person = None if self.is_staff else person_id(self.caller)
        if asked.is_list:
            self._list_heard(script, asked, person, look)
            return
        told = operations.why(
            script,
            number=asked.number,
            person=person,
            look=look,
            asker=self.caller,
            is_full=asked.is_full,
        )
        self.show(told)

    def _list_heard(
        self, script: AssistantScript, asked: WhyRequest, person: str | None, look: Look
    ) -> None:
        told = operations.trace(
            script,
            span=asked.span,
            words=asked.words,
            before=asked.before,
            person=person,
            look=look,
            asker=self.caller,
        )
        lines = [told.message]
        if told.data.messages:
            name = self.name_of(script)
            lines.append(f"One of them: assistant why {name} <number>")
            if told.data.next is not None:
                lines.append(f"Older ones: assistant why {_again(name, asked, told.data.next)}")
        self.show_long("\n".join(lines))


def _again(name: str, asked: WhyRequest, before: int) -> str:
    """The same line for the next page."""
    when = asked.span.told.removeprefix("on ") if asked.span is not None else ""
    words = f'"{asked.words}"' if asked.words else ""
    return " ".join(filter(None, (name, when, words, f"before {before}")))


WORDS = {
    "why": Subcommand(
        WhyWords._why,
        'assistant why [<name>] [<number> | <day> | "<words>"] [full] [reveal]',
        "Why it answered your last message, or the one of that number, or did not; without a "
        f"name, the one you spoke to last. A day ({WHEN}) or words that somebody said publicly "
        "list what it heard then, also days later. With full: rule, trust, model, calls, tools "
        "and all else. Staff see the messages of others too, and what was said in private only "
        "with reveal, which is recorded.",
        is_for_all=True,
    )
}
