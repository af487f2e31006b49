"""Trust in a message: 0 is none at all, 1 is full trust.

The trust in a message is what its source deserves (say 0.4, whisper 0.9, a channel's own), at
least 0.7 when it names the listener; plus 0.01 for each answer the sender had so far, at most 0.1;
minus 0.05 for each time the sender was turned away, at most 0.2; all held between 0 and 1. A
permission of the sender's that has a trust of its own replaces all of that. A channel's own trust
goes before an address; what a bot relays has 0.4 at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

BASE_TRUST = {
    "whisper": 0.9,
    "page": 0.9,
    "channel": 0.6,
    "say": 0.4,
    "pose": 0.3,
    "emit": 0.2,
    "move": 0.8,
    "system": 0.5,
}
ADDRESSED_TRUST = 0.7
RELAYED_TRUST = 0.4
UNKNOWN_TRUST = 0.2
PER_ANSWER, MOST_FOR_ANSWERS = 0.01, 0.1
PER_REFUSAL, MOST_FOR_REFUSALS = 0.05, 0.2


@dataclass(frozen=True, slots=True)
class Basis:
    """The parts that a trust is made of.

    Attributes:
        source: the kind of message, such as "say".
        base: what that kind deserves, address and channel included.
        history: what is known of the sender, -0.2 to 0.1.
        override: what a permission of the sender's stands for, or None.
    """

    source: str
    base: float
    history: float = 0.0
    override: float | None = None

    @property
    def trust(self) -> float:
        """The sum, held between 0 and 1."""
        value = self.base + self.history if self.override is None else self.override
        return round(min(1.0, max(0.0, value)), 3)

    def explain(self) -> str:
        """In words for people, such as "say 0.4, sender -0.05"."""
        if self.override is not None:
            return f"{self.override:g} by a permission of the sender's"
        known = f", sender {self.history:+.2f}" if self.history else ""
        return f"{self.source} {self.base:g}{known}"


def history_of(answered: int, refused: int) -> float:
    """The part of a trust that answers and refusals so far make, -0.2 to 0.1."""
    if not answered and not refused:
        return 0.0
    earned = min(MOST_FOR_ANSWERS, max(0, answered) * PER_ANSWER)
    taken = min(MOST_FOR_REFUSALS, max(0, refused) * PER_REFUSAL)
    return round(earned - taken, 3)


@lru_cache(maxsize=4096)
def weigh(
    source: str,
    *,
    is_addressed: bool = False,
    is_relayed: bool = False,
    own_trust: float | None = None,
    answered: int = 0,
    refused: int = 0,
    override: float | None = None,
) -> Basis:
    """Weigh the trust in a message.

    Args:
        source: as in `BASE_TRUST`; anything else deserves 0.2.
        is_addressed: it names the listener.
        is_relayed: a bot passed it on: 0.4 is the most, unless the channel has its own trust, and
            the bot's permissions and answers say nothing of whoever wrote it.
        own_trust: what the owner set for this channel.
    """
    base = BASE_TRUST.get(source, UNKNOWN_TRUST)
    if is_addressed and base < ADDRESSED_TRUST:
        base = ADDRESSED_TRUST
    if is_relayed:
        base = min(base, RELAYED_TRUST)
        # Whoever wrote it elsewhere has none of the rights that the bot has here.
        override = None
    if own_trust is not None:
        base = own_trust
    known = history_of(0 if is_relayed else answered, refused)
    return Basis(source, base, known, override)
