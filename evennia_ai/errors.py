"""All exceptions of the package as one tree. Outcomes that are expected are return values instead.

AssistantError
├── ConfigurationError      a setting is invalid; the text names it and says what would be valid
│   └── LedgerAwayError         the ledger shared by several games is down: no call is made
├── ImportFileError         an imported card or lore pack is invalid; the text says where
├── NameTakenError          the name could be mistaken for another's; the text says for whose
├── StaleEpochError         this turn was cancelled: nothing it still wants to do may happen
│   ├── StoppedError            an emergency stop is active: nothing is sent
│   └── UnableError             its body cannot act any more           (.why)
├── NobodyListensError      the person who asked has left, and nobody else could hear the answer
├── CircuitOpenError        a circuit breaker is open: no call is made         (.retry_after)
├── LimitReachedError       a limit ends it, unless somebody grants more       (.kind .cap .amount)
├── ToolError               a tool failed; the text is for the model, which may try again
│   ├── ToolDeniedError         a lock, a list or a person forbids it
│   └── ToolTimeoutError        it took too long, which counts against the service behind it
├── LocalModelError         the embedded model cannot be fetched or run
├── MemoryStoreError        the memory store cannot be used
└── ModelError              the model service failed                     (.retryable, .retry_after)
    ├── ModelConnectionError    no connection, or it broke
    ├── ModelTimeoutError       no complete answer within the deadline
    │   └── NoFreeSlotError         the game's own cap on calls in flight left no slot until then
    ├── ModelStatusError        an HTTP error status                     (.status)
    │   └── ContextLengthError      the prompt is too long for the model
    └── ModelReplyError         an answer that is not a chat completion
        └── ReplyTooLargeError      an answer with more bytes than are read
"""

from __future__ import annotations

import math

# HTTP statuses that reject a single request because of its content; some content filters use 403.
REFUSALS = (400, 403, 413, 414, 415, 422, 431, 451)


class AssistantError(Exception):
    """Base of all errors of this package."""


class ConfigurationError(AssistantError):
    """A setting is invalid. The text names the setting, its value and what would be valid."""


class LedgerAwayError(ConfigurationError):
    """The ledger shared by several games cannot be reached. The text says what staff can do."""

    trouble = "the shared ledger is away"


class ImportFileError(AssistantError):
    """An imported file is invalid. The text says what is wrong, where, and what would be valid."""


class NameTakenError(AssistantError):
    """A name could be mistaken for another's. The text says for whose, and what to do."""


class StaleEpochError(AssistantError):
    """The turn belongs to an earlier epoch: the assistant was stopped, cleared or reset since."""

    def __init__(self, turn_epoch: int, current_epoch: int) -> None:
        self.turn_epoch = turn_epoch
        self.current_epoch = current_epoch
        super().__init__(f"turn of epoch {turn_epoch} met epoch {current_epoch}: it was cancelled")


class StoppedError(StaleEpochError):
    """An emergency stop is active: nothing is sent for the assistant."""

    def __init__(self, name: str) -> None:
        # No epoch differs here: the base class only makes the turn end as a cancelled one does.
        super().__init__(0, 0)
        self.args = (f"{name} is stopped: nothing is sent for it",)


class UnableError(StaleEpochError):
    """The assistant's body cannot act any more: nothing the turn still wants to do happens."""

    def __init__(self, epoch: int, why: str) -> None:
        super().__init__(epoch, epoch)
        self.why = why
        self.args = (f"its body cannot act: {why}",)


class NobodyListensError(AssistantError):
    """The person who waited for an answer has left, and nobody else could hear it.

    Attributes:
        is_over: whether the answer is not wanted later either.
    """

    def __init__(self, text: str, *, is_over: bool = False) -> None:
        super().__init__(text)
        self.is_over = is_over


class CircuitOpenError(AssistantError):
    """A circuit breaker rejected a call.

    Attributes:
        name: the breaker's name.
        retry_after: seconds until it may admit a probe, never negative; infinite if it is held
            open by hand.
        counts_as_error: False: it never counts towards the errors that stop an assistant.
        is_of_service, may_lock, trouble: as in ModelError.
    """

    counts_as_error = may_lock = False
    is_of_service = True
    trouble = "it rests"

    def __init__(self, name: str, retry_after: float) -> None:
        self.name = name
        self.retry_after = retry_after if retry_after > 0.0 else 0.0

    # Built on demand: most rejections are never read, and the text costs more than all the rest.
    def __str__(self) -> str:
        if self.retry_after == math.inf:
            return f"breaker '{self.name}' is held open by hand, until somebody resets it"
        return f"breaker '{self.name}' is open, next try in {self.retry_after:.0f} s"


class LimitReachedError(AssistantError):
    """A limit is reached: the run ends here, unless somebody grants more.

    Attributes:
        kind: the limit, a `core.safety.limits.LimitKind`.
        used: amount used.
        cap: amount allowed, including grants; never 0, which means no limit.
        amount: extension that a yes grants, in the limit's unit.
        scope: what the limit is counted over (a task, a day of the game's account). Runs that
            reach the same limit over the same scope share one question and its answer.
        reason: why no more was granted, a `core.safety.limits.DecisionReason`; "" while undecided.
    """

    reason = ""

    def __init__(self, kind: str, *, used: float, cap: float, amount: float, scope: str) -> None:
        self.kind = kind
        self.used = used
        self.cap = cap
        self.amount = amount
        self.scope = scope
        # To a millionth, and never as 1.5e+06.
        amounts = f"{round(used, 6):,.15g} of {round(cap, 6):,.15g}"
        super().__init__(f"limit {kind}: {amounts} are used")


class ToolError(AssistantError):
    """A tool failed. The text is shown to the model."""


class ToolDeniedError(ToolError):
    """A lock, a list or a person forbids the call."""


class ToolTimeoutError(ToolError):
    """A tool exceeded its time limit."""


class LocalModelError(AssistantError):
    """The embedded model cannot be fetched, verified or run."""


class ModelError(AssistantError):
    """The model service failed. The text is for staff and never holds a key.

    Attributes:
        retryable: whether the same request may succeed a little later.
        blames_service: whether it counts for the circuit breaker. A request that is itself at
            fault (too long, for instance) must not open the breaker for everybody.
        retry_after: seconds the service asked us to wait, or None.
        counts_as_error: whether it counts towards the errors in a row that stop an assistant.
        is_of_service: whether nothing that a person asked can have caused it.
        may_lock: whether enough of these may lock an assistant for everybody; trouble that ends
            when the service answers again does not.
        trouble: its kind in a few words; staff are told once of failures with the same words.
    """

    retryable = False
    blames_service = True
    counts_as_error = True
    is_of_service = False
    may_lock = False
    trouble = "no answer that can be read"

    def __init__(self, text: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(text)


class ModelConnectionError(ModelError):
    """The endpoint cannot be reached, or the connection broke.

    Attributes:
        was_sent: whether the request was sent, so that the service may charge for it.
    """

    retryable = is_of_service = True
    trouble = "no connection"

    def __init__(self, text: str, *, was_sent: bool = False) -> None:
        self.was_sent = was_sent
        super().__init__(text)


class ModelTimeoutError(ModelError):
    """No complete answer within the deadline. Not retried: the deadline covers all attempts."""

    trouble = "no answer in time"


class NoFreeSlotError(ModelTimeoutError):
    """The game's own cap on calls in flight left no slot in time. The service was not called."""

    blames_service = False
    counts_as_error = False


class ModelStatusError(ModelError):
    """The endpoint answered with an HTTP error status.

    Args:
        is_used_up: whether the service says, with any status, that a quota or credit is used up.

    Attributes:
        status: the HTTP status code.
        is_used_up: as given.
        is_of_request: whether the service refuses this very request, and says nothing of others.
        is_refusal: whether it refuses the request or the caller, so that no repetition helps.
        is_of_answer: whether it came with HTTP 200 in place of an answer, for which the service may
            charge.
        is_wait_told: whether it is only busy and said when to come back, which is no failure.
            Never for a used-up quota, for which some services say "in a second" for ever.
    """

    def __init__(
        self,
        status: int,
        text: str,
        *,
        retry_after: float | None = None,
        is_used_up: bool = False,
        is_of_answer: bool = False,
    ) -> None:
        self.status = status
        self.is_of_answer = is_of_answer
        # Request timeout, conflict, too early, too many requests: all may pass by themselves.
        self.retryable = status in (408, 409, 425, 429) or status >= 500
        self.is_wait_told = status == 429 and retry_after is not None and not is_used_up
        self.is_used_up = is_used_up
        self.is_of_request = status in (400, 413, 422) and not is_used_up
        self.blames_service = not (self.is_of_request or self.is_wait_told)
        self.is_refusal = status in REFUSALS and not is_used_up
        self.is_of_service = not self.is_refusal
        self.may_lock = self.is_refusal
        self.trouble = f"HTTP {status}"
        super().__init__(text, retry_after=retry_after)

    def blame_setting(self, setting: str) -> None:
        """Make it an error of a wrong setting, which no request caused and no wait ends."""
        self.is_of_service, self.trouble = True, ""
        text = str(self).rstrip(".")
        self.args = (f"{text}; its setting {setting} asks for that: change or remove it",)


class ContextLengthError(ModelStatusError):
    """The prompt is longer than the model's context. The same request never succeeds."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        # Whatever the status says: services report this error with different ones.
        self.retryable = self.blames_service = self.is_of_service = False
        self.may_lock = self.is_of_request = self.is_refusal = True


class MemoryStoreError(AssistantError):
    """The memory store cannot be used: it is down, locked, or returns nonsense."""


class ModelReplyError(ModelError):
    """The endpoint answered 200, but the body is not a chat completion.

    Attributes:
        usage: tokens that it reports all the same, a `core.turn.turn.TokenUsage`, or None.
    """

    def __init__(self, text: str, *, usage: object = None) -> None:
        self.usage = usage
        super().__init__(text)


class ReplyTooLargeError(ModelReplyError):
    """The answer has more bytes than are read, so none of it is used."""
