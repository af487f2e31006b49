"""Every exception of the package, drawn as one tree. What can be expected is a return value.

AssistantError
├── ConfigurationError      a setting is wrong: the text names it and says what would be right
│   └── LedgerAwayError         the ledger that games share cannot be reached: no call is made
├── ImportFileError         a card or a pack that is brought in is wrong; the text says where
├── NameTakenError          people would take one for another by this name; the text says for whom
├── StaleEpochError         this turn was cancelled: nothing it still wants to do may happen
│   ├── StoppedError            an emergency stop is active: nothing is sent
│   └── UnableError             its body cannot act any more           (.why)
├── NobodyListensError      whoever asked has left, and nobody else could hear the answer
├── CircuitOpenError        a breaker is open: the service is not asked   (.retry_after)
├── LimitReachedError       a limit ends it, unless somebody grants more       (.kind .cap .amount)
├── ToolError               a tool could not do it: the text is for the model, which may try again
│   ├── ToolDeniedError         it may not: a lock or a list forbids it
│   └── ToolTimeoutError        it took too long, which says something of what is behind it
├── LocalModelError         the embedded model cannot be had or run
├── MemoryStoreError        the store of memories cannot be used
└── ModelError              the model service failed                     (.retryable, .retry_after)
    ├── ModelConnectionError    nobody answers there
    ├── ModelTimeoutError       no whole answer within the deadline
    │   └── NoFreeSlotError         the game's own cap let nobody in by then: nobody was asked
    ├── ModelStatusError        it answered with an error status         (.status)
    │   └── ContextLengthError      the prompt is too long for the model
    └── ModelReplyError         it answered, but not with a chat completion
        └── ReplyTooLargeError      the answer is longer than what is read of one
"""

from __future__ import annotations

import math

# Statuses by which services refuse one request for what is in it; of 403 a filter makes use too.
REFUSALS = (400, 403, 413, 414, 415, 422, 431, 451)


class AssistantError(Exception):
    """Base of all errors of this package."""


class ConfigurationError(AssistantError):
    """A setting is wrong. The text names the setting, its value and what would be right."""


class LedgerAwayError(ConfigurationError):
    """The ledger that several games share cannot be reached. The text says what staff can do."""

    trouble = "the shared ledger is away"


class ImportFileError(AssistantError):
    """A file that is brought in is wrong. The text says what, where, and what would be right."""


class NameTakenError(AssistantError):
    """A name that people would take for somebody else's. The text says whose, and what to do."""


class StaleEpochError(AssistantError):
    """The turn belongs to an earlier epoch: it was stopped, cleared or reset in the meantime."""

    def __init__(self, turn_epoch: int, current_epoch: int) -> None:
        self.turn_epoch = turn_epoch
        self.current_epoch = current_epoch
        super().__init__(f"turn of epoch {turn_epoch} met epoch {current_epoch}: it was cancelled")


class StoppedError(StaleEpochError):
    """An emergency stop is active: nothing is sent for the assistant."""

    def __init__(self, name: str) -> None:
        super().__init__(0, 0)
        self.args = (f"{name} is stopped: nothing is sent for it",)


class UnableError(StaleEpochError):
    """The assistant's body cannot act any more: nothing that the turn still wants to do happens."""

    def __init__(self, epoch: int, why: str) -> None:
        super().__init__(epoch, epoch)
        self.why = why
        self.args = (f"its body cannot act: {why}",)


class NobodyListensError(AssistantError):
    """Whoever waited for an answer has left, and nobody else could hear it.

    Attributes:
        is_over: the answer is not for later either.
    """

    def __init__(self, text: str, *, is_over: bool = False) -> None:
        super().__init__(text)
        self.is_over = is_over


class CircuitOpenError(AssistantError):
    """A breaker rejects calls.

    Attributes:
        name: the breaker's name.
        retry_after: seconds until it may admit a probe, never negative; infinite when it is held
            open by hand.
        counts_as_error: never, towards the errors in a row that stop an assistant.
        is_of_service, may_lock, trouble: as of a ModelError.
    """

    counts_as_error = may_lock = False
    is_of_service = True
    trouble = "it rests"

    def __init__(self, name: str, retry_after: float) -> None:
        self.name = name
        self.retry_after = retry_after if retry_after > 0.0 else 0.0

    # Most rejections are never read, and writing the text costs more than all the rest.
    def __str__(self) -> str:
        if self.retry_after == math.inf:
            return f"breaker '{self.name}' is held open by hand, until somebody resets it"
        return f"breaker '{self.name}' is open, next try in {self.retry_after:.0f} s"


class LimitReachedError(AssistantError):
    """A limit is reached: what is under way ends here, unless somebody grants more.

    Attributes:
        kind: which limit, as `core.safety.limits.LimitKind` names it.
        used: how much is used.
        cap: how much was allowed, grants included; never 0, which is not a limit.
        amount: how much more a yes grants, in the limit's own unit.
        scope: what the limit is counted over (a task, a day of the game's account); whoever hits
            the same limit over the same scope at one time is answered together.
        reason: why nobody granted more, as `core.safety.limits.DecisionReason` names it; "" while
            it is open.
    """

    reason = ""

    def __init__(self, kind: str, *, used: float, cap: float, amount: float, scope: str) -> None:
        self.kind = kind
        self.used = used
        self.cap = cap
        self.amount = amount
        self.scope = scope
        super().__init__(f"limit {kind}: {used:g} of {cap:g} are used")


class ToolError(AssistantError):
    """A tool could not do what was asked. The text is shown to the model."""


class ToolDeniedError(ToolError):
    """A lock, a list or a person forbids what the tool was to do."""


class ToolTimeoutError(ToolError):
    """A tool took longer than it may."""


class LocalModelError(AssistantError):
    """The embedded model cannot be fetched, verified or run."""


class ModelError(AssistantError):
    """The model service failed. The text is for staff and never holds a key.

    Attributes:
        retryable: whether the same request may succeed a little later.
        blames_service: whether it says something of the service; a request that is itself wrong
            (too long, say) does not, and must not open the breaker for everybody.
        retry_after: seconds the service asked us to wait, or None.
        counts_as_error: whether it is one more of the errors in a row that stop an assistant.
        is_of_service: whether nothing that a person asked can have caused it.
        may_lock: whether it may lock an assistant for everybody, when there are enough of them.
            What passes when the service answers again does not.
        trouble: the kind of it in a few words, the same for all that staff need to read only once.
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
    """Nobody answers at the endpoint, or the connection broke.

    Attributes:
        was_sent: whether the request had gone out, so that it may be charged for.
    """

    retryable = is_of_service = True
    trouble = "no connection"

    def __init__(self, text: str, *, was_sent: bool = False) -> None:
        self.was_sent = was_sent
        super().__init__(text)


class ModelTimeoutError(ModelError):
    """No whole answer within the deadline. Not retried: the deadline covers all attempts."""

    trouble = "no answer in time"


class NoFreeSlotError(ModelTimeoutError):
    """The game's own cap on calls in flight let nobody in. The service was not even asked."""

    blames_service = False
    counts_as_error = False


class ModelStatusError(ModelError):
    """The endpoint answered with an HTTP error status.

    Args:
        is_used_up: it says that a quota or the money for it is used up, in whatever status.

    Attributes:
        status: the HTTP status code.
        is_used_up: as given.
        is_wait_told: it is only busy, and said when to come back: that is not a failure. Never
            of a quota that is used up: some services say "in a second" of it, for ever.
    """

    def __init__(
        self, status: int, text: str, *, retry_after: float | None = None, is_used_up: bool = False
    ) -> None:
        self.status = status
        self.retryable = status in (408, 409, 425, 429) or status >= 500
        self.is_wait_told = status == 429 and retry_after is not None and not is_used_up
        self.is_used_up = is_used_up
        is_fault = is_used_up or status not in (400, 413, 422)
        self.blames_service = is_fault and not self.is_wait_told
        self.is_of_service = is_used_up or status not in REFUSALS
        self.may_lock = not self.is_of_service
        self.trouble = f"HTTP {status}"
        super().__init__(text, retry_after=retry_after)


class ContextLengthError(ModelStatusError):
    """The prompt is longer than the model's context. The same request never succeeds."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.retryable = self.blames_service = self.is_of_service = False
        self.may_lock = True


class MemoryStoreError(AssistantError):
    """The store of memories cannot be used: it is down, locked, or answers nonsense."""


class ModelReplyError(ModelError):
    """The endpoint answered 200, but the body is not a chat completion.

    Attributes:
        usage: the tokens it reports all the same, a `core.turn.turn.TokenUsage`; None: none.
    """

    def __init__(self, text: str, *, usage: object = None) -> None:
        self.usage = usage
        super().__init__(text)


class ReplyTooLargeError(ModelReplyError):
    """The answer has more bytes than are read of one: none of it is used."""
