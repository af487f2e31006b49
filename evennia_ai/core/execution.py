"""How much one tick may do: the static layer of the execution pattern, checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from evennia_ai.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ExecutionConfig:
    """Bounds of one tick.

    Attributes:
        multi_action_enabled: whether the loop may go on after a safe tool.
        max_iterations_per_tick: model calls in one tick, 1 to 10.
    """

    multi_action_enabled: bool = True
    max_iterations_per_tick: int = 5

    def __post_init__(self) -> None:
        count = self.max_iterations_per_tick
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 10:
            raise ConfigurationError(
                f"execution_config.max_iterations_per_tick is {count!r}; it must be 1 to 10"
            )
        if not isinstance(self.multi_action_enabled, bool):
            raise ConfigurationError(
                "execution_config.multi_action_enabled is "
                f"{self.multi_action_enabled!r}; it must be True or False"
            )

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> ExecutionConfig:
        """Read a stored mapping.

        Raises:
            ConfigurationError: a key is unknown or a value is out of bounds.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(stored) - set(known))
        if unknown:
            raise ConfigurationError(
                f"execution_config has no key {unknown[0]!r}; it has {', '.join(known)}"
            )
        return cls(**stored)

    @property
    def iterations(self) -> int:
        """Model calls one tick may make."""
        return self.max_iterations_per_tick if self.multi_action_enabled else 1
