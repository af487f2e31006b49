"""Settings of a request: sampling, and the limit on the answer as each endpoint takes it.

No request is sent without that limit: it bounds what one call may cost.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from evennia_ai.errors import ContextLengthError, ModelStatusError
from evennia_ai.llm.token_counter import get_model_max_tokens, normalize

# The parameter has two names; OpenAI's reasoning models accept only the second.
MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
# Tokens. The default limit, which older models accept too, and the fewest that are worth asking
# for when a spending cap leaves less.
MOST_TOKENS, LEAST_TOKENS = 4_096, 300
# The same for reasoning models: their hidden reasoning counts as output.
MOST_REASONING_TOKENS, LEAST_REASONING_TOKENS = 16_384, 2_000
# Models in "json" mode, such as the embedded one, write a single short tool call.
TOKENS_OF_A_CALL = 220
# How the schema of an answer is asked for: the parameter, and two values of its type.
FORMAT, SCHEMA, OBJECT = "response_format", "json_schema", "json_object"
USUAL_IN_JSON_MODE: Mapping[str, float] = MappingProxyType({"temperature": 0.0})
# Only these two statuses are about the content of the request.
OF_CONTENT = (400, 422)
# Repeats of one request: with the parameter's other name, a smaller value, the shortest answer, or
# without what was refused.
MOST_TRIES = 3

# Request members that the `extra` of an assistant may not set, and the setting to use instead; ""
# where the assistant itself writes the member.
RESERVED_MEMBERS: Mapping[str, str] = MappingProxyType(
    {
        "model": "llm_model",
        "models": "llm_fallback_models",
        "route": "llm_fallback_models",
        "temperature": "llm_temperature",
        "top_p": "llm_top_p",
        **dict.fromkeys(
            (
                MAX_TOKENS,
                MAX_COMPLETION_TOKENS,
                "max_output_tokens",
                "max_new_tokens",
                "max_length",
                "n_predict",
                "num_predict",
            ),
            "llm_max_tokens",
        ),
        "reasoning_effort": "llm_reasoning_effort",
        **dict.fromkeys(
            (
                "messages",
                "tools",
                "tool_choice",
                "functions",
                "function_call",
                "response_format",
                "stream",
                "n",
                "best_of",
            ),
            "",
        ),
    }
)

_OPENAI_REASONING_NAMES = re.compile(r"o[1-9]\b|gpt-[5-9]")
# Names of reasoning models. A wrong guess only gives a limit that is too large or too small.
_REASONING_NAMES = re.compile(
    r"o[1-9]\b|gpt-[5-9]|gpt-oss|gemini-(?:2\.5|[3-9])|grok-[4-9]|deepseek-(?:r|reason)|qwq|qwen3"
    r"|magistral|think|reason"
)
# Error texts of services differ, so both lists are matched only beside the parameter's own name.
_REFUSED = re.compile(
    r"unsupported|not supported|does not support|unrecogni[sz]ed|unknown|unexpected"
    r"|extra (?:inputs|fields|arguments)|not permitted|not allowed|no longer|instead|deprecated",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"too large|too high|at most|exceed|maximum|less than|must be <|<=|> \d|range",
    re.IGNORECASE,
)
_ABOUT_ANSWERS = re.compile(f"{MAX_TOKENS}|{MAX_COMPLETION_TOKENS}|in the completion")


def is_reasoning_model(model: str) -> bool:
    """True if the model is a reasoning model, judging by its name."""
    return bool(_REASONING_NAMES.search(normalize(model)))


@dataclass(frozen=True, slots=True)
class Generation:
    """Sampling settings of a model; None leaves one to the provider.

    Attributes:
        max_tokens: of an answer; None: the model's default in `answer_limits`.
        extra: further members of the request body, sent unchanged except `RESERVED_MEMBERS`.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] | None = None

    def as_body(self) -> dict[str, Any]:
        """The settings as members of the request body, without `max_tokens`."""
        members = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "reasoning_effort": self.reasoning_effort,
        }
        body = {key: value for key, value in members.items() if value is not None}
        extra = self.extra or {}
        return {
            **body,
            **{key: value for key, value in extra.items() if key not in RESERVED_MEMBERS},
        }

    def refused_by(self, error: ModelStatusError, answered: Collection[str]) -> str:
        """The setting that the refusal of a request names, or "".

        Args:
            answered: the settings, as text, with which the model has answered.
        """
        settings = self.as_body()
        if not error.is_of_request or str(settings) in answered:
            return ""
        named = set(re.findall(r"\w+", str(error)))
        for member in settings:
            if member in named:
                return RESERVED_MEMBERS.get(member, f"{member} in llm_extra_params")
        return ""


@dataclass(frozen=True, slots=True)
class WantedTokens:
    """The token limit that an answer should have.

    Attributes:
        tokens: the limit if nothing else bounds it.
        least: a call that may have fewer is not worth sending.
    """

    tokens: int
    least: int


@lru_cache(maxsize=64)
def wanted_of(model: str, *, is_native: bool, is_thinking: bool = False) -> WantedTokens:
    """The default answer limits of a model."""
    if not is_native:
        return WantedTokens(TOKENS_OF_A_CALL, TOKENS_OF_A_CALL)
    # The context window holds prompt and answer, so an answer gets only a part of it.
    window = get_model_max_tokens(model)
    if is_thinking or is_reasoning_model(model):
        tokens = min(MOST_REASONING_TOKENS, window // 2)
        return WantedTokens(tokens, min(LEAST_REASONING_TOKENS, tokens))
    tokens = min(MOST_TOKENS, window // 4)
    return WantedTokens(tokens, min(LEAST_TOKENS, tokens))


@dataclass(slots=True)
class AnswerLimit:
    """The way one model at one endpoint takes its limit and settings, learned from what it says.

    Attributes:
        name: the request parameter, `max_tokens` or `max_completion_tokens`.
        most: the largest value that the endpoint accepts; None until it has refused one.
        answered: the sampling settings, as text, with which the model has answered.
        takes_schema: whether a schema is sent as OpenAI takes it; False: beside "json_object", as
            older servers do.
        usual: sampling settings in "json" mode, where nobody set any; without those it refused.
    """

    name: str = MAX_TOKENS
    most: int | None = None
    answered: set[str] = field(default_factory=set)
    takes_schema: bool = True
    usual: Mapping[str, float] = field(default_factory=lambda: USUAL_IN_JSON_MODE)
    _refused: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, provider: str, model: str) -> AnswerLimit:
        """The first guess, before any request was sent."""
        is_reasoned = provider == "openai" and _OPENAI_REASONING_NAMES.match(normalize(model))
        return cls(MAX_COMPLETION_TOKENS if is_reasoned else MAX_TOKENS)

    def as_body(self, tokens: int) -> dict[str, int]:
        """The limit as a member of the request body."""
        return {self.name: tokens if self.most is None else min(tokens, self.most)}

    def in_its_form(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body with the schema of its answer in the form that the endpoint takes."""
        wanted = body.get(FORMAT)
        if self.takes_schema or not wanted or wanted.get("type") != SCHEMA:
            return body
        return {**body, FORMAT: {"type": OBJECT, "schema": wanted[SCHEMA]["schema"]}}

    def repeats(self, error: ModelStatusError, body: Mapping[str, Any], own: set[str]) -> bool:
        """Learn from a refused request; True if repeating it in another form may help.

        Args:
            body: the request, as it was sent.
            own: names of the `usual` members in it.
        """
        named = set(re.findall(r"\w+", str(error)))
        if {FORMAT, SCHEMA, OBJECT} <= named and SCHEMA in body.get(FORMAT, {}).values():
            self.takes_schema = False  # the server of llama-cpp-python says so with HTTP 500
            return True
        if error.status not in OF_CONTENT or named.isdisjoint(own):
            return False
        self.usual = {name: self.usual[name] for name in self.usual.keys() - named}
        return True

    def after(self, error: ModelStatusError, name: str, sent: int) -> int | None:
        """Learn from a refused request.

        Args:
            name: the parameter that the request used.
            sent: its value.

        Returns:
            The value to repeat the request with, under the new `name`; None if repeating it would
            not help.
        """
        if error.status not in OF_CONTENT:
            return None
        text = str(error)
        if isinstance(error, ContextLengthError):
            # Prompt and limit together are too long. A shorter answer may still fit, and is better
            # than none; a prompt that is too long by itself is the caller's to shorten.
            is_ours = bool(_ABOUT_ANSWERS.search(text)) and sent > LEAST_TOKENS
            return LEAST_TOKENS if is_ours else None
        if name not in text:
            return None
        if name != self.name:  # a concurrent call has already learned the right name
            return sent
        if _TOO_LARGE.search(text):
            # The text quotes the value sent and the maximum, in any order and wording, and may
            # begin a range with 1.
            fewer = [number for number in map(int, re.findall(r"\d+", text)) if 1 < number < sent]
            self.most = max(fewer, default=0) or None
            return self.most
        if _REFUSED.search(text):
            self._refused.add(self.name)
            self.name = MAX_COMPLETION_TOKENS if self.name == MAX_TOKENS else MAX_TOKENS
            # Once both names were refused, switching again would loop.
            return None if self.name in self._refused else sent
        return None
