"""Prices and token counts. Money is in whole nano-dollars, rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError

NAME = "EVENNIA_AI_PRICES"
EXAMPLE = f"{NAME} = {{'gpt-4o-mini': {{'input': 0.15, 'output': 0.6}}}}"
CACHED, CACHE_WRITE = "cached_input", "cache_write"
FREE_PROVIDERS = ("local", "scripted")
NANO = 10**9
# Counts that no service can mean, and that the database's columns could not hold.
MOST_TOKENS_OF_A_CALL = 10**9
MOST_REPORTED = 10**7
# Members of a report: as chat completions have them, and as some gateways pass on others' own.
PROMPT, COMPLETION = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
CACHED_TOKENS, WRITTEN_TOKENS = "cached_tokens", "cache_write_tokens"
CACHE_READ, CACHE_WRITTEN = "cache_read_input_tokens", "cache_creation_input_tokens"
# For a million tokens: far above any price, and the cost of a call fits into its column.
MOST_DOLLARS = 1_000_000
_NANO_PER_DOLLAR_PER_MILLION = NANO // 10**6


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model.

    Attributes:
        input, output: US dollars per million tokens.
        call: US dollars per call, in addition.
        cached_input: US dollars per million tokens of a prompt that the service had in its cache;
            None: as much as other tokens of a prompt.
        cache_write: the same for tokens that the service wrote into its cache.
    """

    input: Decimal
    output: Decimal
    call: Decimal = Decimal(0)
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None


FREE = Price(Decimal(0), Decimal(0))


def read_prices(setting: object) -> Mapping[str, Price]:
    """Validate the game's prices, by `provider/model` or by model alone.

    Raises:
        ConfigurationError: one of them is invalid; the text names its path.
    """
    if not isinstance(setting, Mapping):
        raise ConfigurationError(f"{NAME} is {setting!r}; it must be like {EXAMPLE}")
    return {model: _read_price(f"{NAME}[{model!r}]", value) for model, value in setting.items()}


def _read_price(path: str, given: object) -> Price:
    if not isinstance(given, Mapping) or {"input", "output"} != set(given) - {CACHED, CACHE_WRITE}:
        raise ConfigurationError(
            f"{path} is {given!r}; it must say what a million tokens cost in US dollars: "
            f"{{'input': 0.15, 'output': 0.6}}, and may add {CACHED!r} and {CACHE_WRITE!r}"
        )
    dollars = {key: _read_dollars(f"{path}[{key!r}]", value) for key, value in given.items()}
    price = Price(**dollars)
    # Before the answer nobody knows what is in the cache, so the whole prompt is reserved as fresh.
    if price.cached_input is not None and price.cached_input > price.input:
        raise ConfigurationError(
            f"{path}[{CACHED!r}] is {given[CACHED]!r}; it must be at most 'input', "
            f"{given['input']!r}"
        )
    # Likewise it is reserved as written into the cache.
    if price.cache_write is not None and price.cache_write < price.input:
        raise ConfigurationError(
            f"{path}[{CACHE_WRITE!r}] is {given[CACHE_WRITE]!r}; it must be at least 'input', "
            f"{given['input']!r}"
        )
    return price


def _read_dollars(path: str, value: object) -> Decimal:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        # By way of str, because Decimal(0.15) would be 0.1499999...
        dollars = Decimal(str(value))
        if dollars.is_finite() and 0 <= dollars <= MOST_DOLLARS:
            return dollars
    raise ConfigurationError(
        f"{path} is {value!r}; it must be a number of dollars from 0 to {MOST_DOLLARS:,}"
    )


def price_of(prices: Mapping[str, Price], provider: str, model: str) -> Price | None:
    """The price of a model, or None if it is not set."""
    if provider in FREE_PROVIDERS:
        return FREE
    return prices.get(f"{provider}/{model}") or prices.get(model)


def cost_of(usage: TokenUsage, price: Price | None) -> int:
    """The cost in nano-dollars, rounded up; 0 if the price is unknown."""
    if price is None or price is FREE:
        return 0
    cached_input = price.input if price.cached_input is None else price.cached_input
    cache_write = price.input if price.cache_write is None else price.cache_write
    dollars = (
        (usage.prompt_tokens - usage.cached_tokens - usage.written_tokens) * price.input
        + usage.cached_tokens * cached_input
        + usage.written_tokens * cache_write
        + usage.completion_tokens * price.output
    )
    nano = dollars * _NANO_PER_DOLLAR_PER_MILLION + price.call * NANO
    return int(nano.to_integral_value(ROUND_CEILING))


def highest(prices: Sequence[Price]) -> Price:
    """The price that no call at one of these exceeds, whatever the length of its answer.

    A model may be dear to read and another one dear to write, so that which of them is the dearer
    depends on the length.
    """
    if len(prices) == 1:  # nearly always: an assistant without models to fall back to
        return prices[0]
    return Price(
        max(price.input for price in prices),
        max(price.output for price in prices),
        max(price.call for price in prices),
        cache_write=max(price.cache_write or price.input for price in prices),
    )


def answer_tokens_for(nano: int, price: Price | None) -> int:
    """Tokens of an answer that cost at least so many nano-dollars; 0 if answers are free."""
    if price is None or not price.output:
        return 0
    # One more, since the cost of the whole call is rounded up too.
    return math.ceil(nano / (price.output * _NANO_PER_DOLLAR_PER_MILLION)) + 1


def reported(raw: object, written: Callable[[], int]) -> TokenUsage:
    """The usage that a service reports for one reply, made plausible field by field.

    A total above the sum is believed, since thinking is often counted there only.

    Args:
        raw: the member `usage` of the reply, of any type.
        written: counts the tokens of the reply itself, if the report is implausible.

    Returns:
        The tokens; 0 for the prompt if nothing plausible is reported.
    """
    report = raw if isinstance(raw, Mapping) else {}
    prompt, cached, cache_written = _prompt_of(report)
    completion = _first_count(report, *COMPLETION) or written()
    total = _first_count(report, "total_tokens") or 0
    spare = max(0, total - prompt - completion)
    if not prompt:
        return TokenUsage(spare, completion)
    return TokenUsage(prompt, completion + spare, cached, cache_written)


def _prompt_of(report: Mapping[str, object]) -> tuple[int, int, int]:
    """The tokens of the prompt in a report: all, those from the cache, those written into it."""
    prompt = _first_count(report, *PROMPT)
    if not prompt:
        return 0, 0, 0
    chat, responses = PROMPT_DETAILS
    given = report.get(chat) or report.get(responses)
    details = given if isinstance(given, Mapping) else {}
    cached = details.get(CACHED_TOKENS)
    read = _first_count(report, CACHE_READ) or 0
    written = _first_count(report, CACHE_WRITTEN) or _first_count(details, WRITTEN_TOKENS) or 0
    # Anthropic counts what it read from its cache and wrote into it beside the rest. Gateways that
    # add all of it up, as others do, say so by the details.
    if type(cached) is int and cached >= read:
        cached = _cached_count(cached, prompt)
        return prompt, cached, min(written, prompt - cached)
    prompt += read + written
    return prompt, read or _cached_count(cached, prompt), written


def _first_count(report: Mapping[str, object], *names: str) -> int | None:
    """The first plausible number of tokens among some members of a report."""
    for name in names:
        count = _token_count(report.get(name), MOST_REPORTED)
        if count is not None:
            return count
    return None


def counted(usage: object, estimate: TokenUsage) -> TokenUsage:
    """The usage that a call is charged for, whatever the service reports.

    An impossible report (NaN, negative, not a number, absurdly large) or a missing one is replaced
    by the estimate, so that no call is free and none brings credit.
    """
    prompt = _token_count(getattr(usage, "prompt_tokens", None))
    completion = _token_count(getattr(usage, "completion_tokens", None))
    is_absent = not prompt and not completion
    cached = _cached_count(getattr(usage, "cached_tokens", None), prompt or 0)
    written = _cached_count(getattr(usage, "written_tokens", None), (prompt or 0) - cached)
    return TokenUsage(
        prompt or estimate.prompt_tokens,
        estimate.completion_tokens if completion is None or is_absent else completion,
        cached,
        written if prompt else estimate.written_tokens,
    )


def _cached_count(value: object, prompt: int) -> int:
    """The tokens of a prompt that were cached; 0 if the number cannot be true of this prompt."""
    # One that is told in part is none: cached tokens are the cheaper ones.
    return value if type(value) is int and 0 <= value <= prompt else 0


def _token_count(value: object, most: int = MOST_TOKENS_OF_A_CALL) -> int | None:
    """A number of tokens, rounded up; None if it is not one."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return math.ceil(value) if 0 <= value <= most else None
