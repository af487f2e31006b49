"""The settings of limits while somebody is asked: with another value nothing is left to ask.

A limit is read anew at each step, or it was read when its tick or its wait began: to the latter a
change is handed as a grant. Caps on money have accounts of their own (`approvals.checkpoints`).
"""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.core.safety.limits import LIMITS, MONEY, LimitKind
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ConfigurationError, LimitReachedError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

# Of these a tick or a wait under way goes by the value with which it began.
AS_BEGUN = (LimitKind.ITERATIONS, LimitKind.TICK_SECONDS, LimitKind.DELEGATION_SECONDS)
# Counted over a chain of delegations they are limits of its first turn, which keeps them.
OF_CHAINS = (LimitKind.TASK_ITERATIONS, LimitKind.TASK_TOKENS, LimitKind.DELEGATIONS)
# More than any tick or wait comes to: the limit is gone.
ENDLESS = 1e9


def setting_of(script: Assistant, hit: LimitReachedError, turn: Turn | None) -> LimitSetting | None:
    """The setting of a limit that was met just now; None where no assistant has one."""
    kind = LimitKind(hit.kind)
    if kind.startswith(MONEY) or kind is LimitKind.MODEL_CALL_SECONDS:
        return None
    if kind in OF_CHAINS and turn is not None and hit.scope != turn.scope:
        return None
    value = _value(script, kind)
    return LimitSetting(script, hit, value) if value else None


@dataclass(frozen=True, slots=True)
class LimitSetting:
    """The setting of a limit that was met.

    Attributes:
        value: what it was then.
    """

    script: Assistant
    hit: LimitReachedError
    value: float

    def is_moot(self) -> bool:
        """True where what was used, or is wanted, is within the limit by now."""
        now = _value(self.script, LimitKind(self.hit.kind))
        if now is None:
            return False
        cap, used = self.hit.cap + now - self.value, self.hit.used
        # How long a message is is no count that goes on: with as much as it takes it is let in.
        is_whole = self.hit.kind == LimitKind.MESSAGE_CHARACTERS and cap == used
        return not now or cap > used or is_whole

    @property
    def more(self) -> float:
        """The grant that lets what is under way go on by the new value; 0: it reads that itself."""
        now = _value(self.script, LimitKind(self.hit.kind))
        if self.hit.kind not in AS_BEGUN or now is None:
            return 0.0
        return now - self.value if now else ENDLESS


def _value(script: Assistant, kind: LimitKind) -> float | None:
    """The value of the setting; None where it cannot be read now."""
    if script.work is None or script.work.safety_problem:
        return None
    name, *keys = LIMITS[kind].path.split(".")
    found: object = state.read(script, name) if not keys else None
    try:
        if name == "safety_config":
            found = state.safety_config(script)
        elif name == "execution_config":
            found = ExecutionConfig.from_stored(state.read(script, name))
    except ConfigurationError:
        return None
    for key in keys:
        found = getattr(found, key)
    return float(str(found))
