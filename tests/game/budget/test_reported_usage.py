"""The usage that a service reports of an answer over the wire, and what is counted of it."""

import json
import math
from typing import Any

from evennia_ai import operations
from evennia_ai.budget import ledger
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.llm.scripted import completion
from evennia_ai.models import ModelCall
from tests.game.support import GameTest

NOOP = ("noop", {})
# The model writes this call and nothing else.
_CHOICE = json.loads(completion(None, NOOP))["choices"][0]
WRITTEN = estimate(json.dumps(_CHOICE["message"]["tool_calls"]))
NO_NUMBERS = (None, 0, math.nan, math.inf, -math.inf, -5, "10", True, [], 1e12)
IMPOSSIBLE: tuple[Any, ...] = (
    None,
    {},
    [],
    "much",
    {"prompt_tokens": None, "completion_tokens": None},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": math.nan, "completion_tokens": math.nan},
    {"prompt_tokens": math.inf, "completion_tokens": -math.inf},
    {"prompt_tokens": -5, "completion_tokens": -5},
    {"prompt_tokens": "200", "completion_tokens": "10"},
    {"prompt_tokens": True, "completion_tokens": True},
    {"prompt_tokens": 1e12, "completion_tokens": 1e12},
)


class TestReportedUsage(GameTest):
    """Each answer comes as bytes and is read by the package's own reader."""

    def counted(self, usage: Any) -> ModelCall:
        ModelCall.objects.all().delete()
        self.ask("whisper Ada = hello", completion(None, NOOP, usage=usage))
        ledger.store().flush()
        return ModelCall.objects.get(purpose="turn")

    def test_b2_impossible_usage_counts_as_the_estimate(self) -> None:
        """A wrong report makes nothing free and gives no credit."""
        for usage in IMPOSSIBLE:
            with self.subTest(usage=usage):
                row = self.counted(usage)
                assert "settled" == row.state
                assert 0 < row.estimated_prompt_tokens == row.prompt_tokens
                assert 0 < WRITTEN == row.completion_tokens <= row.estimated_completion_tokens

    def test_b2_each_field_is_judged_by_itself(self) -> None:
        for wrong in NO_NUMBERS:
            with self.subTest(wrong=wrong):
                row = self.counted({"prompt_tokens": 200, "completion_tokens": wrong})
                assert (200, WRITTEN) == (row.prompt_tokens, row.completion_tokens)
                row = self.counted({"prompt_tokens": wrong, "completion_tokens": 10})
                assert 0 < row.estimated_prompt_tokens == row.prompt_tokens
                assert 10 == row.completion_tokens

    def test_b2_possible_usage_counts_as_it_is(self) -> None:
        for prompt, answer in ((1, 1), (200, 1), (123_456, 7_890)):
            with self.subTest(prompt=prompt):
                row = self.counted({"prompt_tokens": prompt, "completion_tokens": answer})
                assert (prompt, answer) == (row.prompt_tokens, row.completion_tokens)

    def test_no_report_counts_the_same_everywhere(self) -> None:
        """`assistant status` and `why` showed no tokens of a prompt for which the caps paid."""
        row = self.counted(None)
        used = row.prompt_tokens + row.completion_tokens
        assert used == operations.status(self.ada_script).data.tokens
        traced = operations.trace(self.ada_script).data.messages[0]
        assert used == traced["prompt_tokens"] + traced["completion_tokens"]


class TestArguments(GameTest):
    """The arguments of a tool call as they come over the wire."""

    def test_b6_bad_json_never_runs(self) -> None:
        """It does not run with empty arguments in their place either; the model is told."""
        whole = completion(None, ("write_note", {"text": "x"}))
        for bad in (b'{\\"text\\": \\"x', b"[1]", b'{\\"text\\": \\"x\\"} and more'):
            with self.subTest(bad):
                broken = whole.replace(b'{\\"text\\": \\"x\\"}', bad)
                assert broken != whole
                self.model.bodies.clear()
                self.ask("whisper Ada = hello", broken, completion(None, ("noop", {})))
                text = self.prompt()
                assert "the arguments of write_note are not" in text
        look = whole.replace(b"write_note", b"look").replace(b'{\\"text\\": \\"x\\"}', b"{oops")
        self.model.bodies.clear()
        self.ask("whisper Ada = hello", look, completion(None, ("noop", {})))
        text = self.prompt()
        assert "the arguments of look are not valid JSON" in text
