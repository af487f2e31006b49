"""The limit of an answer's length, and its name on the wire: no request goes out without it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from evennia_ai.errors import ContextLengthError, ModelStatusError
from evennia_ai.llm.token_counter import get_model_max_tokens, normalize

PLAIN, REASONED = "max_tokens", "max_completion_tokens"
# What every model takes, also the older ones, and what may be left of it near a cap.
MOST_TOKENS, LEAST_TOKENS = 4_096, 300
# Such models think before they answer, and what they think counts.
MOST_WITH_THOUGHT, LEAST_WITH_THOUGHT = 16_384, 2_000
# The embedded model and its like write one short call.
TOKENS_OF_A_CALL = 220
MOST_TRIES = 3

# Members of a request that have a setting of their own, or are the assistant's to write.
OWNED: Mapping[str, str] = MappingProxyType(
    {
        "model": "llm_model",
        "models": "llm_fallback_models",
        "route": "llm_fallback_models",
        "temperature": "llm_temperature",
        "top_p": "llm_top_p",
        **dict.fromkeys(
            (
                PLAIN,
                REASONED,
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

_NAMED_REASONED = re.compile(r"o[1-9]\b|gpt-[5-9]")
_THINKS = re.compile(
    r"o[1-9]\b|gpt-[5-9]|gpt-oss|gemini-(?:2\.5|[3-9])|grok-[4-9]|deepseek-(?:r|reason)|qwq|qwen3"
    r"|magistral|think|reason"
)
_REFUSED = re.compile(
    r"unsupported|not supported|does not support|unrecogni[sz]ed|unknown|unexpected"
    r"|extra (?:inputs|fields|arguments)|not permitted|not allowed|no longer|instead|deprecated",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"too large|too high|at most|exceed|maximum|less than|must be <|<=|> \d", re.IGNORECASE
)
_ABOUT_ANSWERS = re.compile(f"{PLAIN}|{REASONED}|in the completion")


def thinks(model: str) -> bool:
    """True where a model of that name thinks before it answers, as far as names tell."""
    return bool(_THINKS.search(normalize(model)))


@dataclass(frozen=True, slots=True)
class WantedTokens:
    """The most tokens an answer may have.

    Attributes:
        tokens: as many as are wanted.
        least: with fewer there is no use in asking.
    """

    tokens: int
    least: int


@lru_cache(maxsize=64)
def wanted_of(model: str, *, is_native: bool, is_thinking: bool = False) -> WantedTokens:
    """The answer limits of a model where nobody set any."""
    if not is_native:
        return WantedTokens(TOKENS_OF_A_CALL, TOKENS_OF_A_CALL)
    window = get_model_max_tokens(model)
    if is_thinking or thinks(model):
        tokens = min(MOST_WITH_THOUGHT, window // 2)
        return WantedTokens(tokens, min(LEAST_WITH_THOUGHT, tokens))
    tokens = min(MOST_TOKENS, window // 4)
    return WantedTokens(tokens, min(LEAST_TOKENS, tokens))


@dataclass(slots=True)
class AnswerLimit:
    """The parameter by which one model of one endpoint takes the limit, as it turned out.

    Attributes:
        name: the member of the request.
        most: the most that the endpoint takes, as it said; None: it did not say.
    """

    name: str = PLAIN
    most: int | None = None
    _refused: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, provider: str, model: str) -> AnswerLimit:
        """The first guess, before anybody asked."""
        is_reasoned = provider == "openai" and _NAMED_REASONED.match(normalize(model))
        return cls(REASONED if is_reasoned else PLAIN)

    def as_body(self, tokens: int) -> dict[str, int]:
        """The member of a request."""
        return {self.name: tokens if self.most is None else min(tokens, self.most)}

    def after(self, error: ModelStatusError, name: str, sent: int) -> int | None:
        """Learn from a refusal.

        Args:
            name: the member that the refused request had.
            sent: the tokens that it allowed.

        Returns:
            What the same request may allow, told as the endpoint wants it; None: it is no use.
        """
        # Any other status says nothing of what is in the request.
        if error.status not in (400, 422):
            return None
        text = str(error)
        if isinstance(error, ContextLengthError):
            is_ours = bool(_ABOUT_ANSWERS.search(text)) and sent > LEAST_TOKENS
            return LEAST_TOKENS if is_ours else None
        if name not in text:
            return None
        if name != self.name:  # another call has learned it meanwhile
            return sent
        if _TOO_LARGE.search(text):
            fewer = [number for number in map(int, re.findall(r"\d+", text)) if 0 < number < sent]
            self.most = max(fewer, default=0) or None
            return self.most
        if _REFUSED.search(text):
            self._refused.add(self.name)
            self.name = REASONED if self.name == PLAIN else PLAIN
            # Where both names were refused, to change again would go round in circles.
            return None if self.name in self._refused else sent
        return None
