"""States of peers' tasks: stored, sent to subscribers; and the check of chains of assistants."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from django.db import transaction

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.questions import Question
from evennia_ai.models import PeerTask
from evennia_ai.operations.result import Result
from evennia_ai.runtime import state as stored
from evennia_ai.runtime import turns
from evennia_ai.tasks import peer_parts, peer_store, remote_tasks

ANSWER = "answer"


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def ask(task: PeerTask, state: str, question: Question) -> None:
    """Let a task wait for the answer to a question, in state `state`."""
    asking = question.asking
    data = {
        "question": question.number,
        "kind": asking.kind,
        "prompt": asking.prompt,
        "detail": asking.detail,
        "choices": [asdict(each) for each in asking.choices],
    }
    words = f"{asking.prompt} ({asking.detail})" if asking.detail else asking.prompt
    message = {"id": str(uuid4()), "role": "agent", "text": words, "data": data}
    peer_store.add_message(task, message)
    move(task, state, message=message, question=question.number)


def end(task: PeerTask, state: str, text: str, *, is_talk: bool = False) -> None:
    """End a task, unless it has ended already.

    Args:
        text: its answer, or the reason why there is none.
        is_talk: the answer is only talk; nothing was done for it.
    """
    message = {"id": str(uuid4()), "role": "agent", "text": text}
    artifact = _answer(task, text) if state == peer_store.COMPLETED else None
    move(task, state, message=message, answer=text, artifact=artifact, is_talk=is_talk)


def _answer(task: PeerTask, text: str) -> dict[str, Any]:
    modes = peer_store.modes_of(task)
    is_text = peer_parts.is_taken(peer_parts.TEXT, modes)
    if not is_text and peer_parts.is_taken(peer_parts.JSON, modes):
        return {"id": ANSWER, "name": ANSWER, "parts": [{"data": {ANSWER: text}}]}
    return {"id": ANSWER, "name": ANSWER, "parts": [{"text": text}]}


def move(
    task: PeerTask,
    state: str,
    *,
    message: Mapping[str, object] | None = None,
    question: int | None = None,
    answer: str = "",
    artifact: Mapping[str, object] | None = None,
    is_talk: bool = False,
) -> None:
    """Move a task to another state and notify its subscribers, unless the task is over."""
    update: dict[str, Any] = {"message": message} if message is not None else {}
    if is_talk:
        update["is_talk"] = True
    if state in peer_store.FINAL and (chain := turns.CHAINS.get(task.request)) is not None:
        # Unknown after a restart; the peer then counts all the tokens that it had reserved.
        update["usage"] = {"totalTokens": chain.tokens}
    is_new = peer_store.move(
        task, state, now(), told=update, question=question, answer=answer, artifact=artifact
    )
    if is_new:
        # After the commit: nobody is notified of what is rolled back.
        transaction.on_commit(lambda: peer_store.tell(task.pk))
    else:  # another call ended the task first
        task.refresh_from_db()


def refuse_chain(script: AssistantScript, metadata: Mapping[str, object]) -> Result | None:
    """Refuse a task whose chain of assistants, over all games, is too long or a circle; else None.

    Args:
        metadata: metadata of the message, as claimed by the peer.
    """
    hops, most = remote_tasks.hops_of(metadata), stored.read(script, "max_agent_hops")
    if remote_tasks.is_circle(script, metadata):
        return Result.conflict(
            f"{script.key} waits for what you do yourself, so it cannot be asked."
        )
    if 0 < most <= hops:
        audit.record("hop_limit", script, hops=hops, cap=most)
        return Result.conflict(
            f"This task has passed {hops} assistants already, and {script.key} takes part in no "
            f"chain of more than {most} (max_agent_hops)."
        )
    return None
