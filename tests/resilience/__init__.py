"""Tests of breaker and retry."""
