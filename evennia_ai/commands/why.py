"""The subcommand `assistant why`, about one message, a day, or words that were said publicly."""

from __future__ import annotations

import re
from dataclasses import dataclass

from twisted.internet import reactor

from evennia_ai import operations
from evennia_ai.commands.base import REVEAL
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.memory.own import person_id
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import WHEN, Span, span_of
from evennia_ai.operations.turns import traces

# Longer numbers are truncated: there are never so many messages.
MOST_DIGITS = 12
FULL = "full"
BACKWARDS = f" {REVEAL} {FULL}"
_QUOTED = re.compile(r'"([^"]*)"?')
# At most 18 digits, which fit into 64 bits; ASCII, because \d matches digits of all scripts.
_PAGE = re.compile(r"(?:^|\s)before (\d{1,18})$", re.ASCII)
_AGO_WORDS, _DAY_WORDS = 3, 1


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """A parsed request.

    Attributes:
        name: name of an assistant, "" if none is given.
        number: number of a message, None if none is given.
        span: a period, None if none is given.
        words: quoted words to search for; "" if none are given.
        before: number of the message before which the page starts, None for the newest page.
        is_full: True for all details.
    """

    name: str
    number: int | None = None
    span: Span | None = None
    words: str = ""
    before: int | None = None
    is_full: bool = False

    @property
    def is_list(self) -> bool:
        """True if it asks for a list of messages."""
        return self.span is not None or bool(self.words)


def read(line: str, now: float) -> WhyRequest:
    """Parse a line with a name, a number or time or quoted words, a page, and `full`.

    Args:
        now: seconds since 1970.
    """
    rest, _, last = line.rpartition(" ")
    is_full = last.casefold() == FULL
    line = rest.rstrip() if is_full else line
    before = None
    if match := _PAGE.search(line):
        before, line = int(match[1]), line[: match.start()].rstrip()
    words = ""
    if match := _QUOTED.search(line):
        words = " ".join(match[1].split())[: traces.LONGEST_SEARCH]
        line = f"{line[: match.start()]} {line[match.end() :]}"
    line, span = _without_time(" ".join(line.split()), now)
    # With a period, a number belongs to the name.
    name, _, number = line.rpartition(" ") if line[-1:].isdecimal() else (line, "", "")
    if span is not None or not (number.isascii() and number.isdecimal()):
        name, number = line, ""
    message_number = int(number[:MOST_DIGITS]) if number else None
    return WhyRequest(name.strip(), message_number, span, words, before, is_full)


def _without_time(line: str, now: float) -> tuple[str, Span | None]:
    words = line.split()
    for count in (_AGO_WORDS, _DAY_WORDS):
        if len(words) >= count and (span := span_of(" ".join(words[-count:]), now)) is not None:
            return " ".join(words[:-count]), span
    return line, None


class WhyWords(WordCommand):
    """The subcommand `why`."""

    @subcommand(
        'assistant why [<name>] [<number> | <day> | "<words>"] [full] [reveal]',
        "Why it answered your last message, or the one with that number, or why not; without a "
        f"name, the one you spoke to last. A day ({WHEN}) or words that somebody said in public "
        "list what it heard then, even days ago. Full adds the rule, trust, model, calls, tools "
        "and everything else. Staff also see other people's messages, but private words only "
        "with reveal, which is recorded.",
        is_for_all=True,
    )
    def _why(self, rest: str) -> None:
        """Run `why ada`, `why ada 12`, `why ada yesterday`, `why ada "lamp"`; all with `full`."""
        # `full` and `reveal` in any order: each is looked for at the end.
        if rest.casefold().endswith(BACKWARDS):
            rest = f"{rest[: -len(BACKWARDS)]} {FULL} {REVEAL}"
        rest, look = self.look_of(rest)
        name = read(rest, reactor.seconds()).name
        script = (None if name else operations.last_addressed(self.caller)) or self.pick(name)
        if script is None or not self.may_look(look, script):
            return
        # Parsed again with the assistant's own clock, which is only known now.
        request = read(rest, script.clock.seconds())
        person = None if self.is_staff else person_id(self.caller)
        if request.is_list:
            self._list_heard(script, request, person, look)
            return
        result = operations.why(
            script,
            number=request.number,
            person=person,
            look=look,
            asker=self.caller,
            is_full=request.is_full,
        )
        self.show(result)

    def _list_heard(
        self, script: AssistantScript, asked: WhyRequest, person: str | None, look: PrivateView
    ) -> None:
        result = operations.trace(
            script,
            span=asked.span,
            words=asked.words,
            before=asked.before,
            person=person,
            look=look,
            asker=self.caller,
        )
        lines = [result.message]
        if result.data.messages:
            name = self.name_of(script)
            lines.append(f"One of them: assistant why {name} <number>")
            if result.data.next is not None:
                older = _next_page(name, asked, result.data.next)
                lines.append(f"Older ones: assistant why {older}")
        self.show_long("\n".join(lines))


def _next_page(name: str, asked: WhyRequest, before: int) -> str:
    """The line that shows the next page."""
    when = asked.span.phrase.removeprefix("on ") if asked.span is not None else ""
    words = f'"{asked.words}"' if asked.words else ""
    return " ".join(filter(None, (name, when, words, f"before {before}")))
