"""Token counts for one model: exact where tiktoken's file is on disk, else estimated."""

import hashlib
import inspect
import socket
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evennia_ai.core.turn import tokens
from evennia_ai.core.turn.conversation import user_message
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.llm import token_counter
from evennia_ai.llm.endpoints import LOCAL_MODEL
from evennia_ai.llm.local import host
from evennia_ai.llm.token_counter import (
    ENCODING_FILES,
    LOCAL_CONTEXT,
    TokenCounter,
    calculate_utilization,
    count_tokens,
    count_tokens_batch,
    counter_for,
    encoding_of,
    get_model_max_tokens,
    get_utilization_status,
    load_encoding,
    normalize,
)

TEXT = "Tom whispers to you: where are the books about storms?"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No files for tiktoken; any use of the network fails the test."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("something asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    counter_for.cache_clear()
    yield tmp_path
    counter_for.cache_clear()


@pytest.mark.parametrize(
    ("name", "model"),
    [
        pytest.param("gpt-4", "openai/gpt-4", id="with its maker"),
        pytest.param("gpt-4o", " OpenAI/GPT-4o:free ", id="with a variant"),
        pytest.param("gpt-4o", "ft:gpt-4o:shop::x", id="fine-tuned"),
        pytest.param("claude-3-opus", "claude-3-opus", id="plain"),
        pytest.param("", "", id="none"),
    ],
)
def test_names_are_normalized(name: str, model: str) -> None:
    assert name == normalize(model)


@pytest.mark.parametrize(
    ("size", "model"),
    [
        pytest.param(128_000, "gpt-4", id="gpt-4"),
        pytest.param(128_000, "openai/gpt-4-turbo", id="of a family"),
        pytest.param(32_768, "gpt-4-32k-0613", id="the longest name counts"),
        pytest.param(128_000, "gpt-4o-mini", id="gpt-4o"),
        pytest.param(200_000, "claude-3-opus", id="claude"),
        pytest.param(LOCAL_CONTEXT, LOCAL_MODEL, id="embedded"),
        pytest.param(8_192, "llama3.1:8b", id="unknown"),
        pytest.param(8_192, "", id="none"),
    ],
)
def test_the_size_of_a_context(size: int, model: str) -> None:
    assert size == get_model_max_tokens(model)


def test_the_embedded_model_has_the_context_it_is_started_with() -> None:
    assert f'"--context-tokens", type=int, default={LOCAL_CONTEXT}' in inspect.getsource(host)
    assert LOCAL_CONTEXT == TokenCounter("my-own.gguf", "local").max_tokens
    assert 200_000 == TokenCounter("claude-3-opus", "anthropic").max_tokens


class TestWithoutFiles:
    @pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "claude-3-opus", ""])
    def test_it_estimates_and_asks_nobody(self, model: str) -> None:
        """Some of these models are known to tiktoken, which would fetch a file for them."""
        counter = TokenCounter(model)
        assert not counter.exact
        assert estimate(TEXT) == counter.count(TEXT)
        assert 0 == counter.count("")

    def test_a_wrong_file_is_not_used(self, empty_cache: Path) -> None:
        """It would be deleted by tiktoken and fetched anew, so tiktoken is not called."""
        name, _ = ENCODING_FILES["o200k_base"]
        (empty_cache / name).write_bytes(b"no encoding")
        assert None is load_encoding("o200k_base")
        assert (empty_cache / name).exists()

    def test_no_cache_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a cache, tiktoken would fetch its files each time."""
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
        assert None is load_encoding("o200k_base")

    def test_an_encoding_nobody_knows(self) -> None:
        assert None is load_encoding("")

    def test_where_it_looks(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """This is tiktoken's own order."""
        assert str(tmp_path) == token_counter._cache_dir()
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
        monkeypatch.setenv("DATA_GYM_CACHE_DIR", "elsewhere")
        assert "elsewhere" == token_counter._cache_dir()
        monkeypatch.delenv("DATA_GYM_CACHE_DIR")
        assert "data-gym-cache" == Path(token_counter._cache_dir()).name


class TestExact:
    """tiktoken with a tiny encoding of its own, which has a token for each byte."""

    @pytest.fixture(autouse=True)
    def tiny(self, monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
        """The encoding's file is on disk and the encoding is registered."""
        tiktoken = pytest.importorskip("tiktoken")
        registry = pytest.importorskip("tiktoken.registry")
        content = b"each byte"
        (empty_cache / "tiny").write_bytes(content)
        files = {"o200k_base": ("tiny", hashlib.sha256(content).hexdigest())}
        self.load = partial(load_encoding, files=files)
        ranks = {bytes([byte]): byte for byte in range(256)}
        encoding = tiktoken.Encoding(
            "o200k_base", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens={"<|end|>": 256}
        )
        monkeypatch.setitem(registry.ENCODINGS, "o200k_base", encoding)

    def test_it_counts_with_the_models_encoding(self) -> None:
        counter = TokenCounter("openai/gpt-4o-mini", load=self.load)
        assert (True, "counted") == (counter.exact, counter.describe())
        assert len("déjà".encode()) == counter.count("déjà")
        assert not TokenCounter("gpt-4", load=self.load).exact

    def test_odd_texts(self) -> None:
        """Special tokens and lone surrogates count as plain text."""
        counter = TokenCounter("gpt-4o", load=self.load)
        assert len("<|end|>") == counter.count("<|end|>")
        assert 3 == counter.count("\ud800")
        assert 50_001 == counter.count("a" * 50_001)

    def test_usage_changes_nothing(self) -> None:
        counter = TokenCounter("gpt-4o", load=self.load)
        counter.note_usage(1000, TokenUsage(2000, 5))
        assert 4 == counter.count("four")

    def test_without_tiktoken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The package is optional, and its file alone does not help."""
        monkeypatch.setitem(sys.modules, "tiktoken", None)
        monkeypatch.setitem(sys.modules, "tiktoken.model", None)
        assert None is self.load("o200k_base")
        assert "" == encoding_of("gpt-4o")


class TestCalibrated:
    def test_it_follows_the_service(self) -> None:
        counter = TokenCounter("llama3.1:8b")
        for _ in range(3):
            counter.note_usage(counter.count(TEXT * 50), TokenUsage(2 * estimate(TEXT * 50), 9))
            assert 2 * estimate(TEXT * 50) == pytest.approx(counter.count(TEXT * 50), rel=0.01)
        assert 2.0 == pytest.approx(counter.factor, rel=0.01)
        assert "estimated, corrected by 2.00" == counter.describe()

    def test_a_text_is_never_nothing(self) -> None:
        counter = TokenCounter("llama3.1:8b")
        counter.note_usage(1000, TokenUsage(300, 9))
        assert (0.5, 1) == (counter.factor, counter.count("a"))

    def test_tools_and_messages_are_corrected_as_a_whole_when_the_factor_changes(self) -> None:
        counter, spec = TokenCounter("x"), ToolSpec("look", "Look around.", {"type": "object"})
        messages = [user_message("Where is the lamp?"), user_message("Here."), user_message("")]
        raw_tool = tokens.count_tool(spec, estimate)
        raw_messages = tokens.count_messages(messages, estimate)
        for factor in (1.0, 1.5):
            assert factor == pytest.approx(counter.factor)
            for _ in range(2):
                assert round(raw_tool * factor) == counter.count_tools([spec])
                assert round(raw_messages * factor) == counter.count_messages(messages)
            counter.note_usage(1000, TokenUsage(1500, 9))

    def test_tools_are_not_kept_for_ever(self) -> None:
        counter = TokenCounter("x")
        for number in range(token_counter.MOST_TOOLS + 50):
            counter.count_tools([ToolSpec(f"tool{number}", "", {})])
        assert token_counter.MOST_TOOLS == len(counter._tools)


def test_a_model_has_one_counter() -> None:
    """All assistants with a model share its calibration."""
    assert counter_for("m", "a") is counter_for("m", "a")
    assert counter_for("m", "a") is not counter_for("m", "b")


def test_what_was_counted_is_not_counted_again() -> None:
    counter: Any = TokenCounter("m")
    for _ in range(3):
        counter.count(TEXT)
    assert (2, 1) == (counter._raw.cache_info().hits, counter._raw.cache_info().misses)


def test_by_name() -> None:
    assert estimate(TEXT) == count_tokens(TEXT, model="openai/gpt-4") == count_tokens(TEXT)
    assert [0, estimate(TEXT)] == count_tokens_batch(["", TEXT], model="gpt-4")
    assert 50.0 == calculate_utilization(64_000, "gpt-4")


def test_utilization_status() -> None:
    """Exactly 85 is still a warning."""
    expected = {"level": "warning", "color": "warning", "message": "Approaching token limit"}
    assert expected == get_utilization_status(85.0)
