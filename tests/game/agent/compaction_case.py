"""A test case of conversation compaction, with a long history."""

from typing import Any

from evennia_ai.agent import compaction, preparation
from evennia_ai.agent.compaction import CompactionOutcome
from evennia_ai.core.turn.conversation import (
    Message,
    call_message,
    marked_private,
    result_message,
    user_message,
)
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.runtime import state
from tests.game.support import GameTest, pump

SECRET = "the key is under the third stone"
TOLD = {"prompt_tokens": 900, "completion_tokens": 80}


def turn_of(number: int, text: str = "", owner: str = "") -> list[Message]:
    """A turn of three messages, long enough to be summed up."""
    call = ToolCall(f"c{number}", "say", {"message": f"answer {number}"})
    message = user_message(f'Tom says to you: "question {number} {text or "about storms " * 12}"')
    turn = [message, call_message(call), result_message(call, ToolResult(True, "said"))]
    return marked_private(turn, owner) if owner else turn


class CompactionCase(GameTest):
    """Ada has talked a lot: sixteen turns."""

    def setUp(self) -> None:
        """Write a history of 48 messages, of which 18 are to stay."""
        super().setUp()
        self.remember([message for number in range(16) for message in turn_of(number)])

    def remember(self, history: list[Message]) -> None:
        self.history = history
        self.ada_script.work.history = list(history)
        state.write(self.ada_script, conversation_history=history)

    def compact(self, *answers: bytes | Exception, **options: Any) -> list[CompactionOutcome]:
        """Sum up; the outcome is in the list as soon as it is known."""
        self.model.answers.extend(answers)
        outcomes: list[CompactionOutcome] = []
        running = compaction.compact_conversation_history(self.ada_script, **options)
        running.addCallback(outcomes.append)
        pump()
        return outcomes

    def stored(self) -> list[Message]:
        """The stored conversation, which has to equal the one in memory."""
        history = list(state.read(self.ada_script, "conversation_history"))
        assert history == self.ada_script.work.history
        return history

    def is_due(self, **options: Any) -> bool:
        client = self.ada_script.client()
        count = preparation.counter_of(client).count
        return compaction.is_due(self.ada_script, client, count, **options)
