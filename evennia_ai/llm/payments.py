"""The interface between a client and whatever accounts for the cost of its calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.errors import (
    CircuitOpenError,
    ModelConnectionError,
    ModelStatusError,
    NoFreeSlotError,
)

# Statuses of a service that is too busy to take the request. After any other failure of a service
# or a gateway, the model may have answered and charged.
BUSY = (503, 529)


def may_be_charged(error: BaseException) -> bool:
    """True if an attempt that failed with this error may be charged for."""
    if isinstance(error, ModelStatusError):
        is_failure = error.status == 408 or error.status >= 500
        return error.is_of_answer or (is_failure and error.status not in BUSY)
    if isinstance(error, ModelConnectionError):
        return error.was_sent
    return not isinstance(error, (CircuitOpenError, NoFreeSlotError))


class Payment(Protocol):
    """Accounts for one call, attempt by attempt."""

    def begin(self, model: str) -> int:
        """Reserve the cost of an attempt that is about to be sent.

        Args:
            model: the name of the model as replies give it.

        Returns:
            The most tokens that its answer may have.

        Raises:
            LimitReachedError: a spending cap has no room for it.
            StoppedError: the assistant is stopped.
        """

    def sent(self, answer: Deferred[bytes]) -> None:
        """Note that the attempt begun last was sent; `answer` fires with its answer."""

    def spoil(self, error: BaseException) -> None:
        """Note that the attempt begun last gave no usable answer."""


class Unpaid:
    """Accounts for nothing and limits nothing."""

    def begin(self, model: str) -> int:
        """Allow any length."""
        return sys.maxsize

    def sent(self, answer: Deferred[bytes]) -> None:
        """Do nothing."""

    def spoil(self, error: BaseException) -> None:
        """Do nothing."""


UNPAID = Unpaid()


@dataclass(frozen=True, slots=True)
class Counted:
    """A payment that also counts the attempts it lets through.

    Attributes:
        count: called for each of them.
    """

    payment: Payment
    count: Callable[[], None]

    def begin(self, model: str) -> int:
        """Reserve the cost, then count."""
        most = self.payment.begin(model)
        # Only now: an attempt that was refused is not sent.
        self.count()
        return most

    def sent(self, answer: Deferred[bytes]) -> None:
        """Pass it on."""
        self.payment.sent(answer)

    def spoil(self, error: BaseException) -> None:
        """Pass it on."""
        self.payment.spoil(error)


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request for one completion, independent of the model.

    Attributes:
        extra: further members of the request body.
        payment: is told of each attempt.
        name: the name of the model as replies give it.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    extra: Mapping[str, Any]
    payment: Payment
    name: str = ""
