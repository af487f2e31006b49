"""Token counts for one model: by tiktoken if its encoding file is on disk, else estimated.

Nothing here uses the network. The estimate is corrected by the usage that the service reports.
"""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from evennia_ai.core.turn import tokens
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.tokens import Calibration, Counter, Margin, estimate
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.llm.endpoints import LOCAL_MODEL

# Tokens. A model that is not in the table gets a small window: a guess that is too large would be
# refused by the service.
UNKNOWN_CONTEXT = 8192
# The default of `--context-tokens` in `local.host`.
LOCAL_CONTEXT = 4096
# Entries of the caches of counted texts and tools.
MOST_TEXTS = 20_000
MOST_TOOLS = 512
# Characters per call of tiktoken, whose time can be quadratic in a run without spaces.
LONGEST_PIECE = 20_000

# Context window of each model family, in tokens; the longest prefix of a model's name counts.
CONTEXTS = {
    "gpt-5": 272_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-4": 128_000,
    "gpt-4-0314": 8_192,
    "gpt-4-0613": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-3.5": 16_385,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4": 200_000,
    "claude": 200_000,
    "gemini": 1_048_576,
    "deepseek": 64_000,
    "mistral-large": 128_000,
    LOCAL_MODEL: LOCAL_CONTEXT,
}

# Name and SHA-256 of each encoding's file in tiktoken's cache. tiktoken downloads a file that is
# missing or has another hash, so both are checked before it is asked.
_O200K = (
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
Files = Mapping[str, tuple[str, str]]
ENCODING_FILES: Files = {
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
}


def normalize(model: str) -> str:
    """The bare name of a model: "openai/GPT-4o:free" and "ft:gpt-4o:shop" give "gpt-4o"."""
    name = model.strip().lower().rpartition("/")[2]
    return name.removeprefix("ft:").partition(":")[0]


@lru_cache(maxsize=64)
def get_model_max_tokens(model: str) -> int:
    """The size of a model's context in tokens; a cautious guess for an unknown model."""
    name = normalize(model)
    known = [family for family in CONTEXTS if name.startswith(family)]
    return CONTEXTS[max(known, key=len)] if known else UNKNOWN_CONTEXT


def _cache_dir() -> str:
    """The cache folder of tiktoken, found as tiktoken does; "" if its cache is disabled."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return os.environ[variable]
    return str(Path(tempfile.gettempdir()) / "data-gym-cache")


def _is_on_disk(name: str, expected: str) -> bool:
    folder = _cache_dir()
    if not folder:
        return False
    try:
        content = (Path(folder) / name).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == expected


def load_encoding(name: str, files: Files = ENCODING_FILES) -> Counter | None:
    """A counter for one of tiktoken's encodings, or None without tiktoken or its file."""
    if name not in files or not _is_on_disk(*files[name]):
        return None
    try:
        import tiktoken  # noqa: PLC0415
    except ImportError:
        return None
    encoding = tiktoken.get_encoding(name)

    def count(text: str) -> int:
        pieces = range(0, len(text), LONGEST_PIECE)
        return sum(len(encoding.encode_ordinary(text[at : at + LONGEST_PIECE])) for at in pieces)

    return count


def encoding_of(model: str) -> str:
    """The name of a model's tiktoken encoding; "" without tiktoken or for an unknown model."""
    try:
        from tiktoken.model import encoding_name_for_model  # noqa: PLC0415

        return str(encoding_name_for_model(normalize(model)))
    except (ImportError, KeyError):
        return ""


class TokenCounter:
    """Counts tokens for one model, with a cache.

    Args:
        load: gives a counter for the encoding of this name, or None.

    Attributes:
        exact: True if it counts with the model's own encoding.
    """

    def __init__(
        self,
        model: str,
        provider: str = "",
        *,
        load: Callable[[str], Counter | None] = load_encoding,
    ) -> None:
        self.model = model
        self.provider = provider
        counted = load(encoding_of(model))
        self.exact = counted is not None
        self._margin = Margin()
        self._calibration = Calibration()
        self._raw: Counter = lru_cache(MOST_TEXTS)(counted or estimate)
        self._tools: OrderedDict[int, tuple[ToolSpec, int]] = OrderedDict()

    @property
    def factor(self) -> float:
        """The correction of the estimate, learned from the usage that the service reports."""
        return 1.0 if self.exact else self._calibration.factor

    @property
    def max_tokens(self) -> int:
        """The size of the model's context."""
        return LOCAL_CONTEXT if self.provider == "local" else get_model_max_tokens(self.model)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._corrected(self._raw(text))

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Tokens of messages; their sum is corrected, not each text."""
        return self._corrected(tokens.count_messages(messages, self._raw))

    def count_tools(self, specs: Iterable[ToolSpec]) -> int:
        """Tokens of tool descriptions; each spec, which never changes, is serialized only once."""
        total = 0
        for spec in specs:
            # Specs cannot be hashed. The entry keeps the spec alive, so its id stays unique.
            cached = self._tools.get(id(spec))
            if cached is None:
                cached = self._tools[id(spec)] = (spec, tokens.count_tool(spec, self._raw))
                while len(self._tools) > MOST_TOOLS:
                    self._tools.popitem(last=False)
            total += cached[1]
        return self._corrected(total)

    def _corrected(self, raw: int) -> int:
        # A text that is not empty has one token at least, however small the factor.
        return raw if self.exact or not raw else round(raw * self._calibration.factor) or 1

    def note_usage(self, estimated: int, usage: TokenUsage) -> None:
        """Learn the correction factor from a reply.

        Args:
            estimated: this counter's count of the prompt.
        """
        # The factor is relative to the raw estimate, so the present one is taken out first.
        self._calibration.note(round(estimated / self.factor), usage.prompt_tokens)

    def most_of(self, counted: int) -> int:
        """The likely upper bound of a prompt's tokens, judging by earlier prompts."""
        return max(counted, math.ceil(counted / self.factor * self._margin.factor))

    def note_surplus(self, counted: int, real: int) -> None:
        """Learn the safety margin of `most_of`.

        Args:
            counted: this counter's count of a prompt.
            real: the service's count of it.
        """
        self._margin.note(counted / self.factor, real)

    def describe(self) -> str:
        """The counting method, for people."""
        return "counted" if self.exact else f"estimated, corrected by {self.factor:.2f}"


@lru_cache(maxsize=32)
def counter_for(model: str, provider: str = "") -> TokenCounter:
    """The counter of a model, shared by all its assistants."""
    return TokenCounter(model, provider)


def count_tokens(text: str, model: str = "") -> int:
    """Tokens of a text for a model."""
    return counter_for(model).count(text)


def count_tokens_batch(texts: Sequence[str], model: str = "") -> list[int]:
    """Tokens of several texts."""
    return [count_tokens(text, model) for text in texts]


def calculate_utilization(used: int, model: str) -> float:
    """The share of a model's context in use, in percent."""
    return tokens.calculate_utilization(used, get_model_max_tokens(model))


def get_utilization_status(percent: float) -> dict[str, str]:
    """Level, color and message for the fill of a context, to show in a table."""
    band = tokens.band(percent)
    return {"level": band.level, "color": band.color, "message": band.message}
