"""A game in which a conversation is whispered to an assistant, and then asked about.

Both speakers, and whoever asks, are characters of one player, as one account may have several: what
is whispered to an assistant is told to that player alone, so that only to one player can all of it
be told. The assistant answers nothing.
"""

from __future__ import annotations

import itertools
from typing import Any

from django.db import transaction
from evennia.utils.create import create_account, create_object
from twisted.internet.task import Clock

from benchmarks.recall_data import Asked, Conversation, Said, asker_of, seconds_of
from benchmarks.recall_figures import MOST, Found
from evennia_ai.core.hearing.inbox import MESSAGE, Event
from evennia_ai.core.hearing.perception import Source
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import episodes, indexing, recalling
from evennia_ai.messages.incoming import person_of
from evennia_ai.operations import create_assistant
from evennia_ai.runtime import state
from evennia_ai.testing import put_online

# Its own timer would be real time; all that is measured is asked for.
NO_TIMER_SECONDS = 100_000
# So much of a turn's beginning has to stand in a line, letters and digits only.
ENOUGH = 60
_numbers = itertools.count(1)


class Ours:
    """An assistant of its own for a conversation, and the player who talks with it."""

    def __init__(self, conversation: Conversation) -> None:
        """Make the room, the player's characters and the assistant."""
        number = next(_numbers)
        self._lines = Lines()
        self._clock = Clock()
        self._clock.rightNow = min(map(seconds_of, conversation.turns)) - 1
        self._room = create_object(
            "evennia.objects.objects.DefaultRoom", f"Library{number}", nohome=True
        )
        account = create_account(f"Player{number}", "", "password-of-a-benchmark")
        names = dict.fromkeys((*conversation.speakers, asker_of(conversation)))
        self._people = {name: self._character(name, account) for name in names}
        made = create_assistant(f"Ada{number}", location=self._room, persona="You keep the books.")
        assert made.ok, made.message
        self._script = made.data.script
        self._script.clock = self._clock
        state.write(self._script, tick_rate=NO_TIMER_SECONDS)
        self._script.at_start()

    def _character(self, name: str, account: Any) -> Any:
        being = create_object(
            "evennia.objects.objects.DefaultCharacter", name, self._room, nohome=True
        )
        being.account = account
        put_online(being, next(_numbers), account)
        return being

    async def tell(self, said: Said) -> None:
        """A whispered turn to its end: what is kept of it is stored, and the store is told."""
        self._pass_until(seconds_of(said))
        turn = self._turn(said.id, said.speaker, said.text)
        kept = episodes.of_turn(self._script, turn, Stop(StopReason.NOOP))
        if kept.write is not None:
            with transaction.atomic():
                kept.write()
        kept.index()
        self._clock.advance(0)
        await indexing.apply(self._script)
        self._lines.add(said)

    async def ask(self, asked: Asked, *, is_wide: bool = False) -> Found:
        """The lines of the prompt of a turn in which somebody whispers a question."""
        self._pass_until(asked.at)
        turn = self._turn("question", asked.asker, asked.question.text)
        if not is_wide:
            return await self._recall(turn)
        state.write(self._script, memory_config={"recall_limit": MOST})
        found = await self._recall(turn)
        state.write(self._script, memory_config={})
        return found

    async def _recall(self, turn: Turn) -> Found:
        recalled = await recalling.recall(self._script, turn)
        assert not recalled.problem, recalled.problem
        limit = min(MOST, state.memory_config(self._script).recall_limit)
        return Found(self._lines.read(recalled.memories), limit, len(recalled.memories))

    def _pass_until(self, seconds: float) -> None:
        self._clock.advance(max(0.0, seconds - self._clock.seconds()))

    def _turn(self, name: str, speaker: str, words: str) -> Turn:
        being = self._people[speaker]
        event = Event(
            id=name,
            kind=MESSAGE,
            source=Source.WHISPER,
            sender_id=being.dbref,
            sender_name=being.key,
            person=person_of(being),
            place=self._room.dbref,
            body=words,
            trust=0.9,
            rule=1,
            hops=0,
            at=self._clock.seconds(),
        )
        return Turn(self._script.work.epoch, (event,))


class Lines:
    """The lines of a prompt, and the turns whose words they hold."""

    def __init__(self) -> None:
        self._beginnings: dict[str, str] = {}

    def add(self, said: Said) -> None:
        """Know the words of a turn; of two that begin alike the first counts."""
        if beginning := _plain(said.text)[:ENOUGH]:
            self._beginnings.setdefault(beginning, said.id)

    def read(self, text: str) -> list[str]:
        """For each line that tells of something the turn that it holds, or ""."""
        return [self._turn_in(line) for line in text.splitlines() if line.startswith("- ")]

    def _turn_in(self, line: str) -> str:
        words = _plain(line)
        held = [beginning for beginning in self._beginnings if beginning in words]
        return self._beginnings[max(held, key=len)] if held else ""


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
