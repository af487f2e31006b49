"""Changes of a limit's setting while somebody is asked: they may leave nothing to ask.

Some limits are read again at each step; others were read when their tick or wait began, and there a
change is applied as a grant. Caps on money have accounts of their own (`approvals.checkpoints`).
"""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.core.safety.limits import LIMITS, MONEY, LimitKind
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ConfigurationError, LimitReachedError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

# Limits whose value is read when the tick or the wait begins.
AS_BEGUN = (LimitKind.ITERATIONS, LimitKind.TICK_SECONDS, LimitKind.DELEGATION_SECONDS)
# Limits that a chain of delegations counts by the settings of its first assistant.
OF_CHAINS = (LimitKind.TASK_ITERATIONS, LimitKind.TASK_TOKENS, LimitKind.DELEGATIONS)
# Stands for no limit: more than any tick or wait comes to.
ENDLESS = 1e9


def setting_of(script: Assistant, hit: LimitReachedError, turn: Turn | None) -> LimitSetting | None:
    """The setting of a limit that was just met; None where no assistant has one."""
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
        value: its value then.
    """

    script: Assistant
    hit: LimitReachedError
    value: float

    def is_moot(self) -> bool:
        """True where what was used or wanted is within the limit by now."""
        now = _value(self.script, LimitKind(self.hit.kind))
        if now is None:
            return False
        cap, used = self.hit.cap + now - self.value, self.hit.used
        # A message's length does not grow: it fits at exactly the limit.
        is_whole = self.hit.kind == LimitKind.MESSAGE_CHARACTERS and cap == used
        return not now or cap > used or is_whole

    @property
    def more(self) -> float:
        """The grant that applies the new value to what is under way; 0: that reads it itself."""
        now = _value(self.script, LimitKind(self.hit.kind))
        if self.hit.kind not in AS_BEGUN or now is None:
            return 0.0
        return now - self.value if now else ENDLESS


def _value(script: Assistant, kind: LimitKind) -> float | None:
    """The value of the setting; None where it cannot be read now."""
    if script.work is None or script.work.safety_problem:
        return None
    name, *keys = LIMITS[kind].path.split(".")
    value: object = state.read(script, name) if not keys else None
    try:
        if name == "safety_config":
            value = state.safety_config(script)
        elif name == "execution_config":
            value = ExecutionConfig.from_stored(state.read(script, name))
    except ConfigurationError:
        return None
    for key in keys:
        value = getattr(value, key)
    return float(str(value))
