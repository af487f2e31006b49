"""Summing up an assistant's older talk with a model, all of it or nothing.

The history is replaced in one write, once every summary is there. Whatever goes wrong before that
leaves it as it was; the bounds on messages and tokens then hold by leaving the oldest away.
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
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.executions import usage_counted
from evennia_ai.core.turn.tokens import Counter, count_messages
from evennia_ai.core.turn.turn import TokenUsage, Turn
from evennia_ai.errors import AssistantError, ModelReplyError, ModelTimeoutError, StaleEpochError
from evennia_ai.llm.fallback import Client
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.runtime.work import Work

DEADLINE_SECONDS = 120.0
RETRY_AFTER_SECONDS = 300.0
LIMIT = LIMITS[LimitKind.SUMMARY_TOKENS]
DEFAULT_TOKENS = Size().summary_tokens
PROMPT_SHARE = 0.5
FEWEST_TOKENS = 200
WORDS_OF_A_TOKEN = 0.75
# What our own prompt asks for; only where less is wanted, the model is told a number.
WORDS_ASKED_FOR = 250

Before = Callable[[list[Message]], Awaitable[None]]
ExtraValues = Callable[[TokenUsage], Mapping[str, Any]]


@dataclass(slots=True)
class CompactionOutcome:
    """The outcome of a compaction; true when the history is shorter now.

    Attributes:
        detail: in words for staff.
        usage: tokens of all model calls, for whoever counts them; `calls` is their number.
    """

    is_done: bool = False
    detail: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    calls: int = 0

    def __bool__(self) -> bool:
        return self.is_done


def is_due(
    script: Assistant,
    client: Client,
    count: Counter,
    *,
    other_tokens: int = 0,
    is_asleep: bool = False,
) -> bool:
    """True where older talk is to be summed up now.

    Args:
        client: what is asked; the embedded model is not shown the talk, so it needs no summary.
        other_tokens: tokens of all else in a prompt.
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
        beside=other_tokens,
    )


def _nothing(_: TokenUsage) -> Mapping[str, Any]:
    return {}


async def compact(
    script: Assistant,
    client: Client,
    count: Counter,
    *,
    before: Before | None = None,
    extra_values: ExtraValues = _nothing,
) -> CompactionOutcome:
    """Sum up all but the newest messages. Nothing happens while it is under way already.

    After a failure `is_due` says no for five minutes.

    Args:
        before: called with what is about to be summed up; when it fails, nothing is summed up.
        extra_values: given the tokens used, what else is stored together with the new history.

    Raises:
        CancelledError: it was cancelled, as by an emergency stop.
    """
    work, outcome = script.work, CompactionOutcome()
    asking = _Asking(script, client, count, outcome, Fence.of(script))
    old, kept = rules.split(work.history, state.read(script, "compact_preserve_window"))
    if not old or client.provider_name == "local" or work.compact_after == math.inf:
        outcome.detail = "there is nothing to sum up"
        return outcome
    work.compact_after, wait = math.inf, RETRY_AFTER_SECONDS
    try:
        if before is not None:
            await before(list(old))
        _put(asking, kept, await asking.summaries(old), extra_values)
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
    return outcome


@dataclass(slots=True)
class _Asking:
    """The model calls of one compaction, under one deadline."""

    script: Assistant
    client: Client
    count: Counter
    outcome: CompactionOutcome
    fence: Fence

    async def summaries(self, old: Sequence[Message]) -> dict[str | None, str]:
        """A summary for each who may know one; what is short already is its own."""
        ends_at = self.script.clock.seconds() + DEADLINE_SECONDS
        found = {}
        for owner, messages in rules.worth_keeping(rules.scopes(old)).items():
            text = rules.verbatim_summary(messages, owner)
            if not text or 0 < self._cap < self.count(text):
                text = await self._ask(messages, owner, ends_at)
            found[owner] = text
        self.fence.check()
        return found

    @property
    def _cap(self) -> int:
        """The most tokens of a summary; 0: no limit."""
        return int(state.safety_config(self.script).size.summary_tokens)

    async def _ask(self, messages: Sequence[Message], owner: str | None, ends_at: float) -> str:
        """One model call.

        Raises:
            ModelError: the model failed, or said nothing that is a summary.
            CircuitOpenError: it is not being asked now.
            LimitReachedError: no cap has room for it.
            StaleEpochError: it was stopped or reset meanwhile.
        """
        shares = rules.shares(messages, self.count)
        metered = MeteredClient(self.script, self._client(), shares=shares)
        asked = metered.ask(self._request(messages), purpose="summary", **self._extra())
        self.outcome.calls += 1
        try:
            # One deadline for all calls: each summary would else have two minutes of its own.
            left = max(0.0, ends_at - self.script.clock.seconds())
            # The timeout cancels the call, which counts it in the ledger as cut off.
            reply = await asked.addTimeout(left, self.script.clock)
        except DeadlineError:
            raise ModelTimeoutError(f"no summary within {DEADLINE_SECONDS:g} s") from None
        self.outcome.usage += reply.usage
        self.fence.check()
        summary = rules.clean_summary(reply.content, owner)
        if not summary:
            raise ModelReplyError("the model wrote no summary")
        return self._capped(summary)

    def _capped(self, summary: str) -> str:
        """A summary, cut at a sentence where it has more tokens than it may.

        Raises:
            ModelReplyError: nothing of it is left.
        """
        cap, size = self._cap, self.count(summary)
        if not 0 < cap < size:
            return summary
        short, room = summary, len(summary) * cap // size
        # Tokens and characters do not go in step, so it is cut again until it fits.
        while (left := self.count(short)) > cap and short:
            short = cut_at_sentence(summary, room)
            room = min(room - 1, room * 9 // 10)
        if not short.strip("…"):
            raise ModelReplyError(f"no word of a summary fits into {LIMIT.path}, which is {cap}")
        audit.record("summary_truncated", self.script, from_tokens=size, to_tokens=left)
        return short

    def _request(self, messages: Sequence[Message]) -> list[Message]:
        """The prompt, with as many of the lines as half of the model's context holds."""
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
        """The instructions, with a number of words where less than usual is wanted."""
        prompt = state.read(self.script, "compact_prompt") or rules.DEFAULT_COMPACTION_PROMPT
        words = int(self._cap * WORDS_OF_A_TOKEN)
        if not 0 < words < WORDS_ASKED_FOR:
            return str(prompt)
        return f"{prompt} The whole is at most {words} words long."

    def _client(self) -> Any:
        """A model named for this is of the first choice's provider."""
        is_named = bool(state.read(self.script, "compact_model"))
        return getattr(self.client, "first", self.client) if is_named else self.client

    def _extra(self) -> Mapping[str, Any]:
        """Options unlike those of the assistant's own calls: a summary is longer than an answer."""
        model = state.read(self.script, "compact_model")
        own = {"model": model} if model else {}
        limit = state.read(self.script, "llm_max_tokens")
        most = max(limit or 0, self._cap or DEFAULT_TOKENS)
        if limit is None and self.client.supports_tools:
            most = max(most, self.client.wanted(own).tokens)
        return {**own, "max_tokens": most}


def _put(
    asking: _Asking,
    kept: Sequence[Message],
    summaries: Mapping[str | None, str],
    extra_values: ExtraValues,
) -> None:
    """Replace the history, stored and in memory, and note what was done.

    Raises:
        StaleEpochError: what was to stay is not in it any more.
    """
    script, count = asking.script, asking.count
    work = script.work
    # Turns went on meanwhile: what they added stays behind the summary.
    history = rules.replace(work.history, kept, summaries)
    if history is None:
        raise StaleEpochError(work.epoch, work.epoch)
    note = {
        "at": script.clock.seconds(),
        "messages": [len(work.history), len(history)],
        "tokens": [count_messages(work.history, count), count_messages(history, count)],
    }
    more = extra_values(asking.outcome.usage)
    # Stored first: memory must not know of a summary that was rolled back.
    state.write(script, conversation_history=history, last_compaction=note, **more)
    work.history = history


def begin_if_due(
    script: Assistant,
    client: Client,
    *,
    is_asleep: bool = False,
    before: Before | None = None,
    extra_values: ExtraValues = _nothing,
) -> Deferred[CompactionOutcome] | None:
    """Sum up older talk beside all else if that is due: nobody waits for it.

    Args:
        before, extra_values: as of `compact`.
    """
    count = preparation.counter_of(client).count
    if not is_due(script, client, count, is_asleep=is_asleep):
        return None
    return compact_conversation_history(script, before, extra_values)


def compact_conversation_history(
    script: Assistant, before: Before | None = None, extra_values: ExtraValues = _nothing
) -> Deferred[CompactionOutcome]:
    """Sum up an assistant's older talk now, and count what that used. It can be stopped as a tick.

    Does not ask whether it is due.
    """
    client, work = script.client(), script.work
    count = preparation.counter_of(client).count
    asked = compact(script, client, count, before=before, extra_values=extra_values)
    running = Deferred.fromCoroutine(asked)
    if not running.called:  # else another one may be under way, which a stop has to find
        work.compacting = running
    return running.addBoth(partial(_close, script, work, running))


def _close(
    script: Assistant,
    work: Work,
    running: Deferred[CompactionOutcome],
    outcome: CompactionOutcome | Failure,
) -> Any:
    if work.compacting is running:
        work.compacting = None
    if isinstance(outcome, CompactionOutcome):
        if outcome.calls:
            _count(script, outcome)
        return outcome
    return CompactionOutcome(detail="it was cut off") if outcome.check(CancelledError) else outcome


def _count(script: Assistant, outcome: CompactionOutcome) -> None:
    used = outcome.usage
    told = usage_counted("summary", outcome.calls, used.prompt_tokens, used.completion_tokens)
    turns.add_usage(script, Turn(0, (), usage=used, model_calls=outcome.calls), told)
