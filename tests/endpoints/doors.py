"""The doors under test: the prepared answers behind each, and how each is asked.

aimock speaks the protocols of OpenAI, Anthropic and Ollama. The LiteLLM proxy in front of it
translates our requests into each of them and back, as it does for an owner of such a model.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MASTER_KEY = "sk-master"
KEY = "sk-x"
# One of the models that aimock lists.
KNOWN = "gpt-4o"
MODELS = {"gpt": f"openai/{KNOWN}", "claude": "anthropic/claude-3-5-sonnet-20241022"}
MODELS["llama"] = "ollama_chat/llama3.2"


@dataclass(frozen=True)
class Door:
    """One way to a model.

    Attributes:
        program: the fixture that gives the address.
        model: the model's name there.
        key: the key that is sent.
        counts: True where tokens are reported, which aimock does for OpenAI's protocol alone.
    """

    program: str
    model: str
    key: str
    counts: bool = False


DOORS = {
    "aimock": Door("aimock", KNOWN, KEY, counts=True),
    "litellm to OpenAI": Door("litellm", "gpt", MASTER_KEY, counts=True),
    "litellm to Anthropic": Door("litellm", "claude", MASTER_KEY),
    "litellm to Ollama": Door("litellm", "llama", MASTER_KEY),
}


def refusal(words: str, status: int, kind: str, code: str = "") -> dict[str, Any]:
    """An answer of aimock: an error, in the form of the service that it imitates."""
    return {"error": {"message": words, "type": kind, "code": code or kind}, "status": status}


def bell(arguments: str, content: str = "") -> dict[str, Any]:
    """An answer of aimock: a call of the bell, optionally with text beside it."""
    words = {"content": content} if content else {}
    return {**words, "toolCalls": [{"name": "ring_bell", "arguments": arguments}]}


# Requests and their answers; the first match is taken.
ANSWERS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (
        {"userMessage": "please look", "toolResultContains": "long oak tables"},
        {"content": "I see tables."},
    ),
    (
        {"userMessage": "please look"},
        {"toolCalls": [{"name": "look", "arguments": '{"target":"here"}'}]},
    ),
    ({"hasToolResult": True}, {"content": "It rang."}),
    ({"userMessage": "Ring the bell"}, bell('{"times":3}')),
    ({"userMessage": "Ring it badly"}, bell('{"times":', "Gladly, at once.")),
    (
        {"userMessage": "too long"},
        refusal("maximum context length is 8192", 400, "context_length_exceeded"),
    ),
    (
        {"userMessage": "no money"},
        refusal("You exceeded your current quota", 429, "insufficient_quota"),
    ),
    ({"userMessage": "It breaks"}, refusal("Internal trouble", 500, "server_error")),
    ({"userMessage": "overloaded"}, refusal("Overloaded", 529, "overloaded_error")),
    ({"userMessage": "slow down", "sequenceIndex": 0}, refusal("Wait", 429, "rate_limit_error")),
    ({"userMessage": "slow down"}, {"content": "Here I am."}),
    ({}, {"content": "Good evening."}),
)


def write_answers(folder: Path) -> Path:
    """Write the file of answers that aimock reads."""
    path = folder / "answers.json"
    fixtures = [{"match": match, "response": response} for match, response in ANSWERS]
    path.write_text(json.dumps({"fixtures": fixtures}))
    return path


def write_config(folder: Path, aimock: str) -> Path:
    """Write the settings of the proxy: YAML, of which JSON is a subset."""

    def model(name: str, real: str, key: str = KEY, **more: Any) -> dict[str, Any]:
        base = f"{aimock}/v1" if real.startswith("openai/") else aimock
        params = {"model": real, "api_base": base, "api_key": key, **more}
        return {"model_name": name, "litellm_params": params}

    models = [model(name, real) for name, real in MODELS.items()]
    models.append(model("wrong key", MODELS["gpt"], key="sk-wrong"))
    models.append(model("nobody there", MODELS["gpt"], api_base="http://127.0.0.1:9/v1"))
    models.append(model("one a minute", MODELS["gpt"], rpm=1))
    config = {
        "model_list": models,
        "litellm_settings": {"num_retries": 0},
        "router_settings": {
            "num_retries": 0,
            "disable_cooldowns": True,
            "optional_pre_call_checks": ["enforce_model_rate_limits"],
        },
        "general_settings": {"master_key": MASTER_KEY},
    }
    path = folder / "litellm.yaml"
    path.write_text(json.dumps(config))
    return path
