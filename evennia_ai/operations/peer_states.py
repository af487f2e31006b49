"""The states of tasks of peers, as they are written down and told to whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.db import transaction

from evennia_ai.core.safety.questions import Question
from evennia_ai.models import PeerTask
from evennia_ai.runtime import turns
from evennia_ai.tasks import peer_store

# Told the id of a task of which something new is stored.
CHANGED: list[Callable[[str], None]] = []


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def ask(task: PeerTask, state: str, question: Question) -> None:
    """A task waits for the answer to a question."""
    asking = question.asking
    told = {
        "question": question.number,
        "kind": asking.kind,
        "prompt": asking.prompt,
        "detail": asking.detail,
        "choices": [
            {"id": each.id, "label": each.label, "hotkey": each.hotkey} for each in asking.choices
        ],
    }
    words = f"{asking.prompt} ({asking.detail})" if asking.detail else asking.prompt
    message = {"id": str(uuid4()), "role": "agent", "text": words, "data": told}
    peer_store.say(task, message)
    move(task, state, message=message, question=question.number)


def end(task: PeerTask, state: str, text: str) -> None:
    """A task is over, unless it was before.

    Args:
        text: what came of it, or why nothing did.
    """
    message = {"id": str(uuid4()), "role": "agent", "text": text}
    artifact = {"id": "answer", "text": text} if state == peer_store.COMPLETED else None
    move(task, state, message=message, answer=text, artifact=artifact)


def move(
    task: PeerTask,
    state: str,
    *,
    message: dict[str, Any] | None = None,
    question: int | None = None,
    answer: str = "",
    artifact: dict[str, Any] | None = None,
) -> None:
    """A task comes into another state, unless it is over; whoever listens is told."""
    told = {"message": message} if message is not None else {}
    if state in peer_store.FINAL and (chain := turns.CHAINS.get(task.request)) is not None:
        # What a restart forgot is not told: whoever asked counts what it held for it.
        told["usage"] = {"total_tokens": chain.tokens}
    is_new = peer_store.move(
        task, state, now(), told=told, question=question, answer=answer, artifact=artifact
    )
    if is_new:
        transaction.on_commit(lambda: _tell(task.pk))
    else:
        task.refresh_from_db()


def _tell(task: str) -> None:
    for listener in CHANGED:
        listener(task)
