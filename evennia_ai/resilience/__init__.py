"""Circuit breaker, result cache and retries.

Standard library only. Clock and randomness are arguments, so that tests control them.
"""

from evennia_ai.errors import CircuitOpenError
from evennia_ai.resilience.caching import CacheEntry, ToolResultCache, get_cache_key
from evennia_ai.resilience.circuit_breaker import (
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitBreakerMode,
    CircuitBreakerRegistry,
    CircuitBreakerState,
)
from evennia_ai.resilience.retry import RetryConfig, RetryPlan

__all__ = [
    "CacheEntry",
    "CircuitBreaker",
    "CircuitBreakerConfig",
    "CircuitBreakerMode",
    "CircuitBreakerRegistry",
    "CircuitBreakerState",
    "CircuitOpenError",
    "RetryConfig",
    "RetryPlan",
    "ToolResultCache",
    "get_cache_key",
]
