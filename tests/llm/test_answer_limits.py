"""Limits on the length of answers: by the model's name, and as endpoints state them."""

import pytest

from evennia_ai.errors import ContextLengthError, ModelStatusError
from evennia_ai.llm.answer_limits import (
    LEAST_TOKENS,
    MAX_COMPLETION_TOKENS,
    MAX_TOKENS,
    TOKENS_OF_A_CALL,
    AnswerLimit,
    WantedTokens,
    is_reasoning_model,
    wanted_of,
)


@pytest.mark.parametrize(
    ("expected", "model"),
    [
        (False, "gpt-4o"), (False, "claude-3-5-sonnet"), (False, "llama3.2"), (False, "mistral"),
        (False, "solar"), (True, "o1-mini"), (True, "o3"), (True, "openai/o4-mini"),
        (True, "gpt-5-nano"), (True, "gpt-oss:20b"), (True, "gemini-2.5-pro"), (True, "qwen3:8b"),
        (True, "deepseek-reasoner"), (True, "deepseek-r1"), (True, "kimi-k2-thinking"),
    ],
)  # fmt: skip
def test_hole_d22_models_that_think_are_known_by_name(expected: bool, model: str) -> None:
    """Their thinking counts as part of the answer, so they need a larger limit."""
    assert expected is is_reasoning_model(model)


@pytest.mark.parametrize(
    ("expected", "model", "options"),
    [
        pytest.param(WantedTokens(4_096, 300), "gpt-4o", {}, id="a large window"),
        pytest.param(WantedTokens(2_048, 300), "gpt-4-0613", {}, id="a quarter of a small one"),
        pytest.param(WantedTokens(2_048, 300), "unheard-of", {}, id="unknown"),
        pytest.param(WantedTokens(16_384, 2_000), "o3", {}, id="it thinks"),
        pytest.param(WantedTokens(4_096, 2_000), "qwen3:8b", {}, id="it thinks in a small window"),
        pytest.param(
            WantedTokens(16_384, 2_000), "gpt-4o", {"is_thinking": True}, id="told to think"
        ),
        pytest.param(
            WantedTokens(TOKENS_OF_A_CALL, TOKENS_OF_A_CALL),
            "x",
            {"is_native": False},
            id="one call",
        ),
    ],
)
def test_hole_d22_a_length_that_fits_the_model(
    expected: WantedTokens, model: str, options: dict[str, bool]
) -> None:
    """The lengths that hold where none is configured."""
    assert expected == wanted_of(model, **{"is_native": True, **options})


@pytest.mark.parametrize(
    ("expected", "provider", "model"),
    [
        (MAX_COMPLETION_TOKENS, "openai", "o3-mini"),
        (MAX_COMPLETION_TOKENS, "openai", "gpt-5"),
        (MAX_TOKENS, "openai", "gpt-4o"),
        (MAX_TOKENS, "custom", "o3-mini"),
        (MAX_TOKENS, "anthropic", "claude-3"),
    ],
)
def test_hole_d22_the_form_is_the_providers(expected: str, provider: str, model: str) -> None:
    """OpenAI's newer models refuse `max_tokens`."""
    assert {expected: 9} == AnswerLimit.of(provider, model).as_body(9)


UNSUPPORTED = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)


@pytest.mark.parametrize(
    ("most", "body", "error"),
    [
        pytest.param(4_096, {MAX_COMPLETION_TOKENS: 4_096}, ModelStatusError(400, UNSUPPORTED),
                     id="the other form"),
        pytest.param(
            2_048,
            {MAX_TOKENS: 2_048},
            ModelStatusError(
                400, "max_tokens is too large: 4096. This model supports at most 2048 completion"
            ),
            id="less",
        ),
        pytest.param(1_024, {MAX_TOKENS: 1_024},
                     ModelStatusError(422, "max_tokens: 4096 > 1024, the maximum for this model"),
                     id="less, in another way"),
        pytest.param(
            2_048,
            {MAX_TOKENS: 2_048},
            ModelStatusError(
                400, "Invalid max_tokens value, the valid range of max_tokens is [1, 2048]"
            ),
            id="less, as DeepSeek says it",
        ),
        pytest.param(None, {MAX_TOKENS: 4_096},
                     ModelStatusError(400, "the valid range of max_tokens is [1, 4096]"),
                     id="a range in which it is"),
        pytest.param(
            LEAST_TOKENS,
            {MAX_TOKENS: 4_096},
            ContextLengthError(
                400, "maximum context length is 8192; you asked for 9000 (4096 in the completion)"
            ),
            id="no room beside this prompt",
        ),
        pytest.param(None, {MAX_TOKENS: 4_096}, ContextLengthError(400, "prompt is too long"),
                     id="the prompt"),
        pytest.param(None, {MAX_TOKENS: 4_096}, ModelStatusError(400, "no such tool"),
                     id="something else"),
        pytest.param(None, {MAX_TOKENS: 4_096}, ModelStatusError(500, UNSUPPORTED),
                     id="it is not our fault"),
        pytest.param(None, {MAX_TOKENS: 4_096}, ModelStatusError(400, "max_tokens is too large"),
                     id="too large, it says no number"),
        pytest.param(None, {MAX_TOKENS: 4_096}, ModelStatusError(400, "max_tokens: hm"),
                     id="unclear"),
    ],
)  # fmt: skip
def test_hole_d22_an_endpoint_says_what_it_takes(
    most: int | None, body: dict[str, int], error: ModelStatusError
) -> None:
    """The request is corrected once, and the correction is kept for later requests."""
    limit = AnswerLimit()
    assert most == limit.after(error, MAX_TOKENS, 4_096)
    assert body == limit.as_body(4_096)


def test_hole_d22_two_calls_learn_the_same_once() -> None:
    """A refusal of the form that is no longer sent changes nothing."""
    limit = AnswerLimit()
    for _ in range(2):
        assert 9 == limit.after(ModelStatusError(400, UNSUPPORTED), MAX_TOKENS, 9)
        assert {MAX_COMPLETION_TOKENS: 9} == limit.as_body(9)
    refused = ModelStatusError(400, "unknown member max_completion_tokens")
    assert limit.after(refused, MAX_COMPLETION_TOKENS, 9) is None
