"""Complaints of services: overlong prompts, used-up accounts, and the text to show."""

import json
from typing import Any

import pytest

from evennia_ai.llm.complaints import (
    LONGEST_COMPLAINT,
    is_too_long,
    is_unfit,
    is_used_up,
    read_complaint,
    status_within,
)


def _body(value: Any) -> bytes:
    return json.dumps(value).encode()


OPENAI = {
    "error": {
        "message": "This model's maximum context length is 8192 tokens. However, your messages "
        "resulted in 9501 tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}
OPENAI_BY_CODE = {
    "error": {"message": "No.", "type": "invalid_request_error", "code": "context_length_exceeded"}
}
OPENAI_BY_WORDS = {
    "error": {
        "message": "Your input exceeds the context window of this model. Please adjust it.",
        "type": "invalid_request_error",
    }
}
LLAMA_CPP = {
    "error": {
        "code": 400,
        "message": "request (2310 tokens) exceeds the available context size (2048 tokens)",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 2310,
        "n_ctx": 2048,
    }
}
LLAMA_CPP_OLD = {
    "error": {
        "code": 400,
        "message": "the request exceeds the available context size. try increasing it",
        "type": "invalid_request_error",
    }
}
OLLAMA = {
    "error": {
        "message": "input length exceeds the context length",
        "type": "api_error",
        "param": None,
        "code": None,
    }
}
OLLAMA_PLAIN = {"error": "the input length exceeds maximum context length"}
VLLM = {
    "object": "error",
    "message": "This model's maximum context length is 4096 tokens. However, you requested 5000.",
    "type": "BadRequestError",
    "param": None,
    "code": 400,
}
VLLM_PROMPT = {
    "error": {
        "message": "The decoder prompt (length 5000) is longer than the maximum model length of "
        "4096. Make sure that `max_model_len` is no smaller.",
        "type": "BadRequestError",
    }
}
ANTHROPIC = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 208310 tokens > 200000 maximum",
    },
}
ANTHROPIC_SUM = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
    },
}
ANTHROPIC_BYTES = {
    "type": "error",
    "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"},
}
OPENROUTER = {
    "error": {
        "message": "This endpoint's maximum context length is 8192 tokens. However, you requested "
        'about 9000 tokens. Please reduce the length, or use the "middle-out" transform.',
        "code": 400,
        "metadata": {"provider_name": None},
    }
}
OPENROUTER_HANDED_ON = {
    "error": {
        "message": "Provider returned error",
        "code": 400,
        "metadata": {
            "provider_name": "Anthropic",
            "raw": '{"type":"error","error":{"message":"prompt is too long: 9 > 8 maximum"}}',
        },
    }
}
GEMINI = {
    "error": {
        "code": 400,
        "message": "The input token count (1048600) exceeds the maximum number of tokens allowed.",
        "status": "INVALID_ARGUMENT",
    }
}
TGI = {
    "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",
    "error_type": "validation",
}
LM_STUDIO = {
    "error": "Trying to keep the first 5054 tokens. However, the model is loaded with context "
    "length of only 4096 tokens."
}
GROQ = {
    "error": {
        "message": "Request too large for model `m` on tokens per minute (TPM): Limit 6000, "
        "Requested 9000, please reduce your message size and try again.",
        "type": "tokens",
        "code": "rate_limit_exceeded",
    }
}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(400, OPENAI, id="OpenAI"),
        pytest.param(400, OPENAI_BY_CODE, id="OpenAI by its code alone"),
        pytest.param(400, OPENAI_BY_WORDS, id="OpenAI by its words alone"),
        pytest.param(400, LLAMA_CPP, id="llama.cpp"),
        pytest.param(400, LLAMA_CPP_OLD, id="llama.cpp, older"),
        pytest.param(400, OLLAMA, id="Ollama"),
        pytest.param(400, OLLAMA_PLAIN, id="Ollama, as a plain text"),
        pytest.param(400, VLLM, id="vLLM"),
        pytest.param(400, VLLM_PROMPT, id="vLLM of the prompt alone"),
        pytest.param(400, ANTHROPIC, id="Anthropic"),
        pytest.param(400, ANTHROPIC_SUM, id="Anthropic with the answer"),
        pytest.param(413, ANTHROPIC_BYTES, id="Anthropic in bytes"),
        pytest.param(400, OPENROUTER, id="OpenRouter"),
        pytest.param(400, OPENROUTER_HANDED_ON, id="OpenRouter for another"),
        pytest.param(400, GEMINI, id="Gemini"),
        pytest.param(400, [GEMINI], id="Gemini, as a list"),
        pytest.param(422, TGI, id="TGI"),
        pytest.param(400, LM_STUDIO, id="LM Studio"),
        pytest.param(413, GROQ, id="Groq"),
        pytest.param(
            400,
            {"error": {"message": "litellm.ContextWindowExceededError: no", "code": "400"}},
            id="LiteLLM for another",
        ),
    ],
)
def test_a_prompt_that_is_too_long_is_known(status: int, body: Any) -> None:
    assert is_too_long(status, read_complaint(_body(body)))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(500, OPENAI, id="a status that says something else"),
        pytest.param(429, GROQ, id="too many requests"),
        pytest.param(
            400,
            {"error": {"message": "Unsupported value: 'temperature'", "code": "unsupported_value"}},
            id="another mistake",
        ),
        pytest.param(
            400,
            {"error": {"message": "max_tokens is too large: 90000. It may be 16384 at most."}},
            id="an answer that would be too long",
        ),
        pytest.param(
            422,
            {"detail": [{"msg": "wrong", "input": {"content": "my prompt is too long"}}]},
            id="a player's words, quoted",
        ),
        pytest.param(
            400,
            {"error": {"message": "wrong"}, "request": {"message": "maximum context length"}},
            id="a player's words, quoted elsewhere",
        ),
        pytest.param(400, {}, id="nothing"),
        pytest.param(400, [1], id="a list"),
        pytest.param(400, None, id="null"),
    ],
)
def test_other_refusals_are_not_mistaken_for_it(status: int, body: Any) -> None:
    """The conversation is shortened only where that helps."""
    assert not is_too_long(status, read_complaint(_body(body)))


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        pytest.param("slow down", _body({"error": {"message": "slow down"}}), id="in its place"),
        pytest.param("slow down", _body({"error": "slow down"}), id="a plain text"),
        pytest.param("slow down", _body({"detail": "slow down"}), id="as FastAPI does"),
        pytest.param("slow down", _body({"message": "slow down"}), id="at the top"),
        pytest.param("slow down", _body("slow down"), id="nothing else"),
        pytest.param("slow down", _body([{"error": {"message": "slow down"}}]), id="in a list"),
        pytest.param("", _body([]), id="an empty list"),
        pytest.param(
            "a; b", _body({"error": {"message": "a"}, "message": "b", "detail": "a"}), id="two"
        ),
        pytest.param("<h1>502</h1>", b" <h1>502</h1>\n", id="a web page"),
        pytest.param("\ufffd", b"\xff", id="no text"),
        pytest.param("", b"", id="nothing"),
        pytest.param("", _body({"error": {"message": 7}}), id="a number"),
        pytest.param(
            "max_tokens: Extra inputs are not permitted; Field required",
            _body(
                {
                    "detail": [
                        {
                            "loc": ["body", "max_tokens"],
                            "msg": "Extra inputs are not permitted",
                            "input": "a player's words",
                        },
                        {"loc": ["body", 0], "msg": "Field required"},
                        {"loc": [], "msg": "Field required"},
                        {"loc": "body", "msg": 7},
                    ]
                }
            ),
            id="FastAPI's list",
        ),
        pytest.param(
            "messages: Field required",
            _body({"message": {"detail": [{"loc": ["messages"], "msg": "Field required"}]}}),
            id="Mistral's list",
        ),
        pytest.param(
            "No route", _body({"errors": [{"message": "No route", "code": 7003}]}), id="Cloudflare"
        ),
        pytest.param("a; b", _body({"error": ["a", {"message": "b"}]}), id="a list of both"),
    ],
)
def test_the_words_for_people_are_found(expected: str, body: bytes) -> None:
    """The text is found wherever a service puts it, and repeated text is kept once."""
    assert expected == read_complaint(body)[0]


@pytest.mark.parametrize("body", [b"x" * 9000, _body({"error": "x" * 9000}), b"[" * 100_000])
def test_words_have_an_end(body: bytes) -> None:
    assert LONGEST_COMPLAINT == len(read_complaint(body)[0])


@pytest.mark.parametrize(
    ("expected", "message", "code"),
    [
        pytest.param(
            True,
            "Your credit balance is too low to access the Anthropic API.",
            "invalid_request_error",
            id="Anthropic, with 400",
        ),
        pytest.param(True, "You exceeded your current quota.", "insufficient_quota", id="OpenAI"),
        pytest.param(True, "Insufficient credits. Add more.", "", id="OpenRouter"),
        pytest.param(True, "Insufficient Balance", "unknown_error", id="DeepSeek"),
        pytest.param(True, "Quota exceeded for metric: requests", "429", id="Gemini"),
        pytest.param(True, "Max budget reached.", "budget_exceeded", id="LiteLLM by its code"),
        pytest.param(True, "Budget has been exceeded! Current cost: 2", "", id="LiteLLM"),
        pytest.param(False, "The content was filtered.", "content_filter", id="a filter"),
        pytest.param(False, "This billing question is not allowed.", "", id="a question of it"),
    ],
)
def test_what_says_that_the_account_is_used_up(expected: bool, message: str, code: str) -> None:
    """Services report this with various statuses, so only text and code decide."""
    body = _body({"error": {"message": message, "type": code}})
    assert expected is is_used_up(read_complaint(body))


@pytest.mark.parametrize(
    ("expected", "status", "message", "code"),
    [
        pytest.param(True, 400, "Invalid model name passed in model=m", "400", id="LiteLLM"),
        pytest.param(True, 400, "m is not a valid model ID", "400", id="OpenRouter"),
        pytest.param(True, 400, "Invalid model: m", "invalid_model", id="Mistral"),
        pytest.param(True, 400, "Model Not Exist", "invalid_request_error", id="DeepSeek"),
        pytest.param(True, 400, "The model `m` does not exist", "", id="another"),
        pytest.param(True, 400, "library/m:latest does not support tools", "", id="Ollama"),
        pytest.param(
            True, 400, '"auto" tool choice requires --enable-auto-tool-choice', "", id="vLLM"
        ),
        pytest.param(False, 403, "The model `m` does not exist", "", id="with another status"),
        pytest.param(False, 400, "Invalid value for model output", "", id="another mistake"),
    ],
)
def test_a_model_that_a_service_does_not_have_or_that_takes_no_tools(
    expected: bool, status: int, message: str, code: str
) -> None:
    body = _body({"error": {"message": message, "code": code}})
    assert expected is is_unfit(status, read_complaint(body))


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        pytest.param(502, _body({"error": {"code": 502, "message": "down"}}), id="a status"),
        pytest.param(
            429, _body({"id": "x", "error": {"code": 429}, "choices": []}), id="no choice"
        ),
        pytest.param(
            502, _body({"choices": [{"error": {"code": 502}, "message": {}}]}), id="in the choice"
        ),
        pytest.param(429, _body({"error": {"code": "429"}}), id="a status as a text"),
        pytest.param(
            502,
            _body({"error": {"code": 502}, "choices": [{"finish_reason": "error"}]}),
            id="beside a choice that broke off",
        ),
        pytest.param(0, _body({"choices": [{"finish_reason": "error"}]}), id="no more than that"),
        pytest.param(0, _body({"error": {"code": "busy"}}), id="a word"),
        pytest.param(0, _body({"error": {"code": True}}), id="a flag"),
        pytest.param(0, _body({"error": {"code": 200}}), id="no status of an error"),
        pytest.param(0, _body({"error": "down"}), id="a text"),
        pytest.param(None, _body({"error": ""}), id="an empty text"),
        pytest.param(None, _body({"choices": [{"error": None, "message": {}}]}), id="none in it"),
        pytest.param(None, _body({"error": None, "choices": [{}]}), id="none"),
        pytest.param(None, _body({"error": {"code": 502}, "choices": [{}]}), id="beside an answer"),
        pytest.param(None, _body([{"error": {"code": 502}}]), id="a list"),
        pytest.param(None, b'{"error"', id="no JSON"),
        pytest.param(None, b"", id="nothing"),
    ],
)
def test_the_status_of_an_error_in_place_of_an_answer(expected: int | None, body: bytes) -> None:
    assert expected == status_within(body)
