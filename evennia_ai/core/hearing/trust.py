"""Trust in a message, from 0 (none) to 1 (full).

It starts from what the source deserves (say 0.4, whisper 0.9, a channel's own value), and is at
least 0.7 if the message names the listener. Each answer the sender had adds 0.01, at most 0.1; each
refusal takes 0.05, at most 0.2. A permission of the sender with a trust of its own replaces all of
that. A channel's own value takes precedence over an address; a relayed message has 0.4 at most.
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
    """The parts that make up a trust.

    Attributes:
        source: kind of the message, such as "say".
        base: trust in that kind, address and channel included.
        history: adjustment for what is known of the sender, -0.2 to 0.1.
        override: trust given to a permission of the sender, or None.
    """

    source: str
    base: float
    history: float = 0.0
    override: float | None = None

    @property
    def trust(self) -> float:
        """The resulting trust, between 0 and 1."""
        value = self.base + self.history if self.override is None else self.override
        return round(min(1.0, max(0.0, value)), 3)

    def explain(self) -> str:
        """The parts in words for people, such as "say 0.4, sender -0.05"."""
        if self.override is not None:
            return f"{self.override:g} by a permission of the sender's"
        known = f", sender {self.history:+.2f}" if self.history else ""
        return f"{self.source} {self.base:g}{known}"


def history_of(answered: int, refused: int) -> float:
    """The adjustment for earlier answers and refusals, -0.2 to 0.1."""
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
    """Compute the trust in a message.

    Args:
        source: as in `BASE_TRUST`; anything else has 0.2.
        is_addressed: whether it names the listener.
        is_relayed: whether a bot passed it on. Then 0.4 is the most, unless the channel has its own
            value, and the bot's permissions and answers do not count for the author.
        own_trust: the value that an owner set for this channel.
    """
    base = BASE_TRUST.get(source, UNKNOWN_TRUST)
    if is_addressed and base < ADDRESSED_TRUST:
        base = ADDRESSED_TRUST
    if is_relayed:
        base = min(base, RELAYED_TRUST)
        # The author elsewhere has none of the permissions that the bot has here.
        override = None
    if own_trust is not None:
        base = own_trust
    known = history_of(0 if is_relayed else answered, refused)
    return Basis(source, base, known, override)
