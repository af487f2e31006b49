"""The breaker, the cache of results, and retries."""
