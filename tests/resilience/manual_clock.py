"""A manual clock, and a breaker's configuration that makes for short examples."""

from evennia_ai.resilience import CircuitBreakerConfig

BREAKER_CONFIG = CircuitBreakerConfig(
    failure_threshold=3, success_threshold=2, timeout_seconds=10, window_seconds=20
)


class ManualClock:
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
