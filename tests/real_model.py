"""Marks of tests that need the embedded language model, and are skipped without it."""

import importlib.util

import pytest

NEEDS_MODEL = (
    pytest.mark.real_model,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None,
        reason="THE REAL MODEL IS NOT TESTED: xllamacpp is missing, install evennia-ai[local]",
    ),
)
