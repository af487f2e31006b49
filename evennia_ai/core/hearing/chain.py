"""Chains: all work among assistants that one person set off, with its payer and limits.

Messages and tasks carry the id of their chain from one assistant to the next. The whole chain is
counted together, against the limits of the assistant where it began.

Tasks for remote agents carry it too, with the hops so far, and other games do the same. Such claims
come from strangers: they can end a chain sooner, but never extend it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.settings.safety import Loop

# Chains in memory; the least recently used are dropped.
MOST_CHAINS = 5_000
PREFIX = "chain "
HOPS, CHAIN = "hops", "chain"
# Above any game's limit; a higher claim is cut to this.
MOST_CLAIMED_HOPS = 1_000
_CLAIMED_CHAIN = re.compile(r"[\w.:-]{1,128}", re.ASCII)


@dataclass(slots=True)
class Chain:
    """A chain of turns and tasks.

    Attributes:
        person: the person who began it ("*#3") and pays for it; "" for nobody.
        steps: model calls of the loop, over all its turns.
        most_steps, most_tokens, most_delegations: its limits, 0 for none.
    """

    id: str = ""
    person: str = ""
    steps: int = 0
    tokens: int = 0
    delegations: int = 0
    most_steps: float = 0
    most_tokens: float = 0
    most_delegations: float = 0
    grants: dict[str, float] = field(default_factory=dict)

    @property
    def scope(self) -> str:
        """The scope over which its limits are counted."""
        return PREFIX + self.id

    def used(self, kind: LimitKind) -> int:
        """The usage that counts towards a limit."""
        used = {LimitKind.TASK_TOKENS: self.tokens, LimitKind.DELEGATIONS: self.delegations}
        return used.get(kind, self.steps)

    def most(self, kind: LimitKind) -> float:
        """A limit without grants; 0 for none."""
        most = {
            LimitKind.TASK_TOKENS: self.most_tokens,
            LimitKind.DELEGATIONS: self.most_delegations,
        }
        return most.get(kind, self.most_steps)

    def cap(self, kind: LimitKind) -> float:
        """A limit with all grants; 0 for none."""
        # 0 means no limit, and adding a grant would turn it into one.
        return self.most(kind) and self.most(kind) + self.grants.get(kind, 0)

    def grant(self, kind: str, more: float) -> None:
        """Extend a limit."""
        if more:
            self.grants[kind] = self.grants.get(kind, 0) + more


class Chains:
    """The chains known to a server process."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Chain] = OrderedDict()

    def get(self, chain_id: object) -> Chain | None:
        """A known chain, or None."""
        return self._known.get(chain_id) if isinstance(chain_id, str) else None

    def of(self, chain_id: str, person: str, loop: Loop) -> Chain:
        """The chain with an id; an unknown one begins here."""
        chain = self._known.get(chain_id)
        if chain is None:
            chain = Chain(
                chain_id,
                person,
                most_steps=loop.max_iterations_per_task,
                most_tokens=loop.max_tokens_per_task,
                most_delegations=loop.max_delegations_per_task,
            )
            self._known[chain_id] = chain
        self._known.move_to_end(chain_id)
        while len(self._known) > MOST_CHAINS:
            # The least recently used one.
            self._known.popitem(last=False)
        return chain

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


def is_of_chain(scope: str) -> bool:
    """True if a limit was counted over a whole chain rather than one of its tasks."""
    return scope.startswith(PREFIX)


def claimed_hops(metadata: Mapping[str, object]) -> int:
    """Number of assistants that a remote task claims to have passed; 0 without a valid claim."""
    hops = metadata.get(HOPS)
    if isinstance(hops, bool) or not isinstance(hops, (int, float)) or not hops > 0:
        return 0
    return int(min(hops, MOST_CLAIMED_HOPS))


def claimed_chain(metadata: Mapping[str, object]) -> str:
    """The chain that a remote task claims to belong to; "" without a valid claim."""
    chain = metadata.get(CHAIN)
    return chain if isinstance(chain, str) and _CLAIMED_CHAIN.fullmatch(chain) else ""
