"""A game in which a conversation is whispered to an assistant, and then asked about.

Both speakers and the asker are characters of one player: words whispered to an assistant are told
only to that player, so only one player can be told all of them. The assistant does not answer.
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

# The store's own timer runs on real time; the benchmark calls it instead.
NO_TIMER_SECONDS = 100_000
# Letters and digits of a turn's beginning that a line must contain to count as that turn.
ENOUGH = 60
_numbers = itertools.count(1)


class Ours:
    """An assistant for one conversation, and the player who talks with it."""

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
        result = create_assistant(
            f"Ada{number}", location=self._room, persona="You keep the books."
        )
        assert result.ok, result.message
        self._script = result.data.script
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
        """Whisper a turn and let it end: its memories are stored, and the store is told."""
        self._pass_until(seconds_of(said))
        turn = self._turn(said.id, said.speaker, said.text)
        episode = episodes.of_turn(self._script, turn, Stop(StopReason.NOOP), "")
        if episode.write is not None:
            with transaction.atomic():
                episode.write()
        episode.index()
        self._clock.advance(0)
        await indexing.apply(self._script)
        self._lines.add(said)

    async def ask(self, asked: Asked, *, is_wide: bool = False) -> Found:
        """Return the lines of the prompt of a turn in which somebody whispers a question."""
        self._pass_until(asked.at)
        turn = self._turn("question", asked.asker, asked.question.text)
        if not is_wide:
            return await self._recall(turn)
        state.write(self._script, memory_config={"recall_limit": MOST})
        answer = await self._recall(turn)
        state.write(self._script, memory_config={})
        return answer

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
    """The lines of a prompt, and the turns whose words they contain."""

    def __init__(self) -> None:
        self._beginnings: dict[str, str] = {}

    def add(self, said: Said) -> None:
        """Store the words of a turn; of two that begin alike the first counts."""
        if beginning := _plain(said.text)[:ENOUGH]:
            self._beginnings.setdefault(beginning, said.id)

    def read(self, text: str) -> list[str]:
        """Return, for each line with a memory, the turn that it contains, or ""."""
        return [self._turn_in(line) for line in text.splitlines() if line.startswith("- ")]

    def _turn_in(self, line: str) -> str:
        words = _plain(line)
        held = [beginning for beginning in self._beginnings if beginning in words]
        return self._beginnings[max(held, key=len)] if held else ""


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
