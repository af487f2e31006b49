"""The former folder of vectors, written by Qdrant's own client."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from evennia_ai.memory_store.hashing import DIMENSIONS, HashingEmbedder
from evennia_ai.memory_store.port import Item


def name_of(assistant: int, signature: str = HashingEmbedder.signature) -> str:
    """Return the name of a collection."""
    return f"a{assistant}e{sha256(signature.encode()).hexdigest()[:12]}"


def write(folder: Path, collections: Mapping[str, Sequence[Item]]) -> None:
    """Put vectors of memories into collections, by name."""
    # Importing it takes two seconds, which only the tests that write should pay.
    from qdrant_client import QdrantClient, models

    with closing(QdrantClient(path=str(folder))) as client:
        for name, items in collections.items():
            if not client.collection_exists(name):
                client.create_collection(
                    name,
                    vectors_config=models.VectorParams(
                        size=DIMENSIONS, distance=models.Distance.COSINE
                    ),
                )
            client.upsert(name, [models.PointStruct(**_point(one)) for one in items])


def _point(one: Item) -> dict[str, Any]:
    vector = HashingEmbedder().embed_passages([one.text])[0].tolist()
    payload: dict[str, Any] = {"key": one.key, "audience": one.audience, "trust": one.trust}
    payload |= {"data": one.key, "agent_id": "1", "created_at": "2026-11-24T00:00:00+00:00"}
    return {"id": str(UUID(hex=one.key)), "vector": {"": vector}, "payload": payload}


def file_of(folder: Path, name: str) -> Path:
    return folder / "collection" / name / "storage.sqlite"
