"""Summing up an assistant's older conversation with a model, all of it or none.

The history is replaced in one write, once every summary exists. Whatever fails before that leaves
it as it was; the bounds on messages and tokens then hold by dropping the oldest messages.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as DeadlineError
from twisted.python.failure import Failure

from evennia_ai import audit
from evennia_ai.agent import preparation
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.safety.limits import LIMITS, LimitKind
from evennia_ai.core.settings.safety import Size
from evennia_ai.core.text.cleaning import cut_at_sentence
from evennia_ai.core.turn import compaction as rules
from evennia_ai.core.turn import namesakes
from evennia_ai.core.turn.conversation import Message, marked_as_summary_of
from evennia_ai.core.turn.executions import usage_counted
from evennia_ai.core.turn.tokens import Counter, count_messages
from evennia_ai.core.turn.turn import MoneySpent, TokenUsage, Turn
from evennia_ai.errors import AssistantError, ModelReplyError, ModelTimeoutError, StaleEpochError
from evennia_ai.llm.fallback import Client, first_alone
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.runtime.work import Work

DEADLINE_SECONDS = 120.0  # for all summaries of one compaction together
RETRY_AFTER_SECONDS = 300.0  # after a failure, so that a model that is down is not asked each beat
LIMIT = LIMITS[LimitKind.SUMMARY_TOKENS]
DEFAULT_TOKENS = Size().summary_tokens
PROMPT_SHARE = 0.5  # of the model's context; the rest is room for the summary
FEWEST_TOKENS = 200  # of the conversation, however long the instructions are
WORDS_OF_A_TOKEN = 0.75  # a rough figure for English text
# The default prompt asks for this many; the model is told a number only where fewer are wanted.
WORDS_ASKED_FOR = 250

Before = Callable[[list[Message]], Awaitable[None]]
ExtraValues = Callable[[TokenUsage], Mapping[str, Any]]


@dataclass(slots=True)
class CompactionOutcome:
    """The outcome of a compaction; true when the history is shorter now.

    Attributes:
        detail: in words for staff.
    """

    is_done: bool = False
    detail: str = ""
    spent: MoneySpent = field(default_factory=MoneySpent)

    def __bool__(self) -> bool:
        return self.is_done


def is_due(script: Assistant, client: Client, count: Counter, *, is_asleep: bool = False) -> bool:
    """True where older conversation should be summed up now.

    Args:
        client: the client that would be asked; the demo brain is not shown the history, so it needs
            no summary.
    """
    if not state.read(script, "compact_enabled") or client.provider_name == "local":
        return False
    if script.clock.seconds() < script.work.compact_after:
        return False
    threshold = "compact_sleep_threshold" if is_asleep else "compact_emergency_threshold"
    return rules.is_due(
        script.work.history,
        preparation.max_tokens_of(script, client),
        state.read(script, "max_history"),
        state.read(script, threshold),
        count,
        preserve_window=state.read(script, "compact_preserve_window"),
    )


def _no_extra_values(_: TokenUsage) -> Mapping[str, Any]:
    return {}


async def compact(
    script: Assistant,
    client: Client,
    count: Counter,
    *,
    before: Before | None = None,
    extra_values: ExtraValues = _no_extra_values,
) -> CompactionOutcome:
    """Sum up all but the newest messages, unless that is under way already.

    Args:
        before: called with the messages about to be summed up; if it fails, nothing is summed up.
        extra_values: given the tokens used, returns values stored together with the new history.

    Raises:
        CancelledError: it was cancelled, as by an emergency stop.
    """
    work, outcome = script.work, CompactionOutcome()
    asking = _SummaryCalls(script, client, count, outcome, Fence.of(script))
    old, recent = rules.split(work.history, state.read(script, "compact_preserve_window"))
    if not old or client.provider_name == "local" or work.compact_after == math.inf:
        outcome.detail = "there is nothing to sum up"
        return outcome
    # Infinity marks a compaction under way; `finally` replaces it, whatever happens.
    work.compact_after, wait = math.inf, RETRY_AFTER_SECONDS
    try:
        if before is not None:
            await before(list(old))
        _replace_history(asking, recent, await asking.summaries(old), extra_values)
        outcome.is_done, wait = True, 0.0
    except CancelledError:
        wait = 0.0
        raise
    except StaleEpochError as error:
        outcome.detail, wait = str(error), 0.0
    except AssistantError as error:
        outcome.detail = str(error)
        logger.log_warn(f"[assistant] {script.key}: older talk is not summed up: {error}")
    except Exception as error:
        outcome.detail = f"internal error: {error!r}"
        logger.log_trace(f"[assistant] {script.key}: older talk is not summed up")
    finally:
        work.compact_after = script.clock.seconds() + wait
        _count_usage(script, outcome.spent)
    return outcome


@dataclass(slots=True)
class _SummaryCalls:
    """The model calls of one compaction, under one deadline."""

    script: Assistant
    client: Client
    count: Counter
    outcome: CompactionOutcome
    fence: Fence

    async def summaries(self, old: Sequence[Message]) -> list[Message]:
        """A summary for each audience; a conversation that is short already is its own."""
        ends_at = self.script.clock.seconds() + DEADLINE_SECONDS
        summaries, history = [], self.script.work.history
        for owner, own in rules.worth_keeping(rules.scopes(old)).items():
            last = namesakes.bearers(history, {}, owner or "")
            messages = namesakes.told_apart(own, last)
            text = rules.verbatim_summary(messages, owner)
            if not text or 0 < self._cap < self.count(text):
                text = await self._ask(messages, owner, ends_at)
            summary = rules.summary_message(text, owner)
            summaries.append(marked_as_summary_of(summary, messages))
        self.fence.check()
        return summaries

    @property
    def _cap(self) -> int:
        """The most tokens of a summary; 0: no limit."""
        return int(state.safety_config(self.script).size.summary_tokens)

    async def _ask(self, messages: Sequence[Message], owner: str | None, ends_at: float) -> str:
        """Ask the model for one summary."""
        shares = rules.shares(messages, self.count)
        spent = self.outcome.spent
        metered = MeteredClient(self.script, self._client(), shares=shares, spent=spent)
        call = metered.ask(self._request(messages), purpose="summary", **self._options())
        try:
            # One deadline for all calls, or each summary would get two minutes of its own.
            timeout = max(0.0, ends_at - self.script.clock.seconds())
            # The timeout cancels the call, and the ledger counts it as cut off.
            reply = await call.addTimeout(timeout, self.script.clock)
        except DeadlineError:
            raise ModelTimeoutError(f"no summary within {DEADLINE_SECONDS:g} s") from None
        self.fence.check()
        summary = rules.clean_summary(reply.content, owner)
        if not summary:
            raise ModelReplyError("the model wrote no summary")
        return self._capped(summary)

    def _capped(self, summary: str) -> str:
        """Cut a summary at a sentence where it has more tokens than the cap."""
        cap, size = self._cap, self.count(summary)
        if not 0 < cap < size:
            return summary
        short, room = summary, len(summary) * cap // size
        # Tokens and characters are not proportional, so it is cut again until it fits.
        while (tokens := self.count(short)) > cap and short:
            short = cut_at_sentence(summary, room)
            room = min(room - 1, room * 9 // 10)
        if not short.strip("…"):
            raise ModelReplyError(f"no word of a summary fits into {LIMIT.path}, which is {cap}")
        audit.record("summary_truncated", self.script, from_tokens=size, to_tokens=tokens)
        return short

    def _request(self, messages: Sequence[Message]) -> list[Message]:
        """Build the prompt, with no more lines than half of the model's context holds."""
        prompt = self._prompt()
        request = rules.compaction_request(messages, prompt)
        lines = request[1]["content"]
        most = int(preparation.max_tokens_of(self.script, self.client) * PROMPT_SHARE)
        size, size_of_lines = count_messages(request, self.count), self.count(lines)
        if size <= most:
            return request
        room = max(FEWEST_TOKENS, most - (size - size_of_lines))
        return rules.compaction_request(messages, prompt, len(lines) * room // size_of_lines)

    def _prompt(self) -> str:
        """The instructions, with a word limit where less than usual is wanted."""
        prompt = state.read(self.script, "compact_prompt") or rules.DEFAULT_COMPACTION_PROMPT
        words = int(self._cap * WORDS_OF_A_TOKEN)
        if not 0 < words < WORDS_ASKED_FOR:
            return str(prompt)
        return f"{prompt} The whole is at most {words} words long."

    def _client(self) -> Client:
        # A model named for compaction belongs to the first provider; fallbacks do not know it.
        is_named = bool(state.read(self.script, "compact_model"))
        return first_alone(self.client) if is_named else self.client

    def _options(self) -> Mapping[str, Any]:
        """Options of the call that differ from those of the assistant's replies."""
        model = state.read(self.script, "compact_model")
        own = {"model": model} if model else {}
        # A summary is longer than a reply, so the limit on replies must not cut it off.
        limit = state.read(self.script, "llm_max_tokens")
        most = max(limit or 0, self._cap or DEFAULT_TOKENS)
        if limit is None and self.client.supports_tools:
            most = max(most, self.client.wanted(own).tokens)
        return {**own, "max_tokens": most}


def _replace_history(
    asking: _SummaryCalls,
    recent: Sequence[Message],
    summaries: Sequence[Message],
    extra_values: ExtraValues,
) -> None:
    """Replace the history, stored and in memory, and note what was done."""
    script, count = asking.script, asking.count
    work = script.work
    # Turns went on meanwhile: the messages that they added stay behind the summary.
    history = rules.replace(work.history, recent, summaries)
    if history is None:
        raise StaleEpochError(work.epoch, work.epoch)
    note = {
        "at": script.clock.seconds(),
        "messages": [len(work.history), len(history)],
        "tokens": [count_messages(work.history, count), count_messages(history, count)],
    }
    more = extra_values(asking.outcome.spent.usage)
    # Stored first, so that memory never holds a summary that was rolled back.
    state.write(script, conversation_history=history, last_compaction=note, **more)
    work.history = history


def begin_if_due(
    script: Assistant,
    client: Client,
    *,
    is_asleep: bool = False,
    before: Before | None = None,
    extra_values: ExtraValues = _no_extra_values,
) -> Deferred[CompactionOutcome] | None:
    """Sum up older conversation in the background, if that is due."""
    count = preparation.counter_of(client).count
    if not is_due(script, client, count, is_asleep=is_asleep):
        return None
    return compact_conversation_history(script, before, extra_values)


def compact_conversation_history(
    script: Assistant, before: Before | None = None, extra_values: ExtraValues = _no_extra_values
) -> Deferred[CompactionOutcome]:
    """Sum up an assistant's older conversation now, due or not, and count the tokens used.

    Cancelling the Deferred ends it; an emergency stop finds it in `work.compacting`.
    """
    client, work = script.client(), script.work
    count = preparation.counter_of(client).count
    compaction = compact(script, client, count, before=before, extra_values=extra_values)
    running = Deferred.fromCoroutine(compaction)
    # One that ended at once did nothing; another may be under way, which a stop has to find.
    if not running.called:
        work.compacting = running
    return running.addBoth(partial(_finish, script, work, running))


def _finish(
    script: Assistant,
    work: Work,
    running: Deferred[CompactionOutcome],
    outcome: CompactionOutcome | Failure,
) -> Any:
    if work.compacting is running:
        work.compacting = None
    if isinstance(outcome, CompactionOutcome):
        return outcome
    return CompactionOutcome(detail="it was cut off") if outcome.check(CancelledError) else outcome


def _count_usage(script: Assistant, spent: MoneySpent) -> None:
    # Also of a compaction that was cut off: its calls count in the ledger.
    if spent.calls:
        used = spent.usage
        entry = usage_counted("summary", spent.calls, used.prompt_tokens, used.completion_tokens)
        turns.add_usage(script, Turn(0, (), spent=spent), entry)
