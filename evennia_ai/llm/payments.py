"""The payer of a model call, as a client knows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.toolspec import ToolSpec


class Payment(Protocol):
    """The payer of one call, attempt by attempt."""

    def begin(self, model: str) -> int:
        """An attempt is about to be sent.

        Args:
            model: which is asked, as replies name it.

        Returns:
            The most tokens that its answer may have.

        Raises:
            LimitReachedError: there is no room for it under a cap.
            StoppedError: nothing is sent for the assistant any more.
        """

    def sent(self, answer: Deferred[bytes]) -> None:
        """The attempt that began last is on its way; this is its answer."""

    def spoil(self, error: BaseException) -> None:
        """The attempt that began last brought nothing that can be used."""


class Unpaid:
    """Nobody pays, and nothing is bounded but by the client itself."""

    def begin(self, model: str) -> int:
        """As many as the client wants."""
        return sys.maxsize

    def sent(self, answer: Deferred[bytes]) -> None:
        """Nobody ends it but whoever asked."""

    def spoil(self, error: BaseException) -> None:
        """There is nothing to be counted."""


UNPAID = Unpaid()


@dataclass(frozen=True, slots=True)
class Counted:
    """A payer beside whom each attempt is counted that nothing stops any more.

    Attributes:
        count: called for each.
    """

    payment: Payment
    count: Callable[[], None]

    def begin(self, model: str) -> int:
        """As the payer says."""
        most = self.payment.begin(model)
        self.count()
        return most

    def sent(self, answer: Deferred[bytes]) -> None:
        """Tell the payer."""
        self.payment.sent(answer)

    def spoil(self, error: BaseException) -> None:
        """Tell the payer."""
        self.payment.spoil(error)


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """The request of one completion, of whichever model.

    Attributes:
        extra: further members of the request body.
        payment: is told of each attempt.
        name: what replies call the model.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    extra: Mapping[str, Any]
    payment: Payment
    name: str = ""
