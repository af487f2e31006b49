"""Breaker and retry. Standard library only; clock and randomness are arguments."""

from evennia_ai.errors import CircuitOpenError
from evennia_ai.resilience.circuit_breaker import (
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitBreakerRegistry,
    CircuitBreakerState,
)
from evennia_ai.resilience.retry import RetryConfig

__all__ = [
    "CircuitBreaker",
    "CircuitBreakerConfig",
    "CircuitBreakerRegistry",
    "CircuitBreakerState",
    "CircuitOpenError",
    "RetryConfig",
]
