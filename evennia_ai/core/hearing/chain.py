"""The chain of work that one person sets going among assistants: its payer and its limits.

Messages and tasks carry the id of their chain from one assistant to the next. All of it is counted
together and held to the limits of the assistant with which it began.

Tasks for agents elsewhere carry it too, with the hops so far, and other games do the same. What
comes in so is a stranger's word: it can make a chain end sooner, and never later.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.settings.safety import Loop

MOST_CHAINS = 5_000
PREFIX = "chain "
HOPS, CHAIN = "hops", "chain"
# More than any game's limit; a claim above it is as good as this.
MOST_CLAIMED_HOPS = 1_000
_CLAIMED_CHAIN = re.compile(r"[\w.:-]{1,128}", re.ASCII)


@dataclass(slots=True)
class Chain:
    """One chain.

    Attributes:
        id: of the event that it began with.
        person: who began it ("*#3") and pays for all of it; "" for nobody.
        steps: model calls of the loop, of all its turns.
        tokens: of all their model calls.
        delegations: tasks that were handed on in it.
        most_steps, most_tokens, most_delegations: what it may have, 0 for no limit.
        grants: how much further each limit goes, because somebody said yes.
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
        """The use of a limit by all its turns together."""
        used = {LimitKind.TASK_TOKENS: self.tokens, LimitKind.DELEGATIONS: self.delegations}
        return used.get(kind, self.steps)

    def most(self, kind: LimitKind) -> float:
        """A limit of it as it is set; 0: none."""
        most = {
            LimitKind.TASK_TOKENS: self.most_tokens,
            LimitKind.DELEGATIONS: self.most_delegations,
        }
        return most.get(kind, self.most_steps)

    def cap(self, kind: LimitKind) -> float:
        """The same with all that was granted."""
        # 0 is no limit, and stays none whatever was granted.
        return self.most(kind) and self.most(kind) + self.grants.get(kind, 0)

    def grant(self, kind: str, more: float) -> None:
        """Let it go on so much further."""
        if more:
            self.grants[kind] = self.grants.get(kind, 0) + more


class Chains:
    """The chains of a server process, as many as anybody may still hear of."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Chain] = OrderedDict()

    def get(self, chain_id: object) -> Chain | None:
        """A chain that is known."""
        return self._known.get(chain_id) if isinstance(chain_id, str) else None

    def of(self, chain_id: str, person: str, loop: Loop) -> Chain:
        """A chain, which begins now where it is not known.

        Args:
            person: who began it.
            loop: the limits of the assistant with which it begins.
        """
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
            # The one that was heard of longest ago.
            self._known.popitem(last=False)
        return chain

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


def is_of_chain(scope: str) -> bool:
    """True for a limit that was counted over a whole chain, and not over one task of it."""
    return scope.startswith(PREFIX)


def claimed_hops(metadata: Mapping[str, object]) -> int:
    """The assistants that a task from elsewhere says it has passed; 0: it says nothing of use."""
    hops = metadata.get(HOPS)
    if isinstance(hops, bool) or not isinstance(hops, (int, float)) or not hops > 0:
        return 0
    return int(min(hops, MOST_CLAIMED_HOPS))


def claimed_chain(metadata: Mapping[str, object]) -> str:
    """The chain that a task from elsewhere says it belongs to; "": it says nothing of use."""
    chain = metadata.get(CHAIN)
    return chain if isinstance(chain, str) and _CLAIMED_CHAIN.fullmatch(chain) else ""
