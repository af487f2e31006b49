"""Nights that are cut off: after any moment, the next morning is as if nothing had happened."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from evennia_ai import consolidation
from evennia_ai.agent import compaction
from evennia_ai.core.memory.recollection import Recollection, person_audience, place_audience
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import indexing, modes, profiles
from evennia_ai.memory_store import rows
from evennia_ai.messages import incoming
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import state
from tests.crash.scenes import ANSWER, QUESTION, Scene, _talked, calls
from tests.crash.world import Game
from tests.game.consolidation.sleep_model import TOKENS, answer_to, content_for, kind_of, lines
from tests.game.support import pump

MOST_BEATS = 60
OPEN, PRIVATE, MIRAS = 5, 5, 2
ENTRIES = OPEN + PRIVATE + MIRAS
KEPT_ENTRIES = 10
REPLACED = "The attic is empty."


def _decide(body: Mapping[str, Any]) -> bytes:
    """Answer as a model for which the new fact about the attic replaces the old one."""
    if kind_of(body) == "turn":
        return calls("whisper", target="Tom", message=ANSWER)
    if kind_of(body) == "facts" and REPLACED in lines(body, "Known already"):
        facts = json.loads(content_for(body))
        number = lines(body, "Known already").index(REPLACED) + 1
        facts[0]["replaces"] = [number]
        return completion(json.dumps(facts), usage=TOKENS)
    return answer_to(body)


# ---- the evening before ------------------------------------------------------------------------


def _memory(game: Game, number: int, text: str, owner: str, **options: Any) -> Recollection:
    tom, mira = (incoming.person_of(game.being(name)) for name in ("Tom", "Mira"))
    room = game.being("Tom").location.dbref
    person = mira if owner == "Mira" else tom
    audience = person_audience(person) if owner else place_audience("say", room)
    # Equally similar memories are ordered by key, so keys must be the same in each run.
    key = uuid5(NAMESPACE_OID, text).hex
    memory = Recollection(key, "journal", text, audience, person=person, place=room)
    return replace(memory, at=time.time() - 3600 + number, **options)


def _evening(game: Game) -> None:
    """Store entries of three audiences, an outdated fact, a profile, and a long conversation."""
    _talked(game)
    limits = {"journal_entries": KEPT_ENTRIES, "reflection_threshold": 60}
    state.write(game.ada, memory_config=limits, sleep_schedule={"min_awake_minutes": 0})
    memories = [
        *(_memory(game, i, f"Boat {i} lies in the harbour.", "") for i in range(OPEN)),
        *(_memory(game, i, f"Crate {i} stands in the cellar.", "Tom") for i in range(PRIVATE)),
        *(_memory(game, i, f"Chest {i} stands in the attic.", "Mira") for i in range(MIRAS)),
        _memory(game, -60, REPLACED, "Mira", kind="fact", importance_by="llm"),
    ]
    rows.insert(game.ada.pk, memories)
    profiles.meet(game.ada, incoming.person_of(game.being("Tom")), "Tom")
    pump()


# ---- the night ---------------------------------------------------------------------------------


def _step(game: Game) -> str:
    return str(state.read(game.ada, "consolidation_progress").get("step", "none"))


def _rest(game: Game) -> None:
    for _ in range(MOST_BEATS):
        if not _step(game):
            break
        game.beat()


def _night(game: Game) -> None:
    consolidation.put_to_sleep(game.ada, "a test")
    _rest(game)
    consolidation.wake_up(game.ada, "a test")
    pump()


def _go_on(game: Game) -> None:
    """Run the server again, and sleep to the end of the night."""
    # This vector store is in memory, so the new process has to index everything again.
    Memory.objects.update(indexed_as="")
    indexing.apply(game.ada)
    pump()
    if not modes.is_asleep(game.ada) and _step(game):
        consolidation.put_to_sleep(game.ada, "a test")
    _rest(game)
    consolidation.wake_up(game.ada, "a test")
    pump()


def _first_pieces(game: Game) -> None:
    _evening(game)
    consolidation.put_to_sleep(game.ada, "a test")
    for _ in range(2):
        game.beat()


def _called(game: Game) -> None:
    """Let Tom speak to her after the first pieces; she sleeps on after it."""
    game.type(f"whisper Ada = {QUESTION}")
    consolidation.put_to_sleep(game.ada, "a test")
    game.beat()


def _summary(game: Game) -> None:
    """Summarize while awake: facts are drawn first from what is about to be summed up."""
    keep = partial(consolidation.extract, game.ada)
    compaction.compact_conversation_history(game.ada, keep)
    pump()


def _unhurried(game: Game) -> None:
    """Prepare an evening with enough calls to draw all facts while awake."""
    _evening(game)
    limits = {"journal_entries": KEPT_ENTRIES, "awake_calls_per_day": 100}
    state.write(game.ada, memory_config=limits)


def _pauses(game: Game) -> None:
    """Have a pause while awake for each audience."""
    for _ in range(4):
        game.ada.work.talks.clear()
        game.ada.work.sort_after = 0.0
        game.beat()


# ---- the morning after -------------------------------------------------------------------------


def _of_memory(row: Memory, by_key: Mapping[str, str]) -> list[Any]:
    cites = sorted(by_key.get(key, "gone") for key in row.cites)
    values = [row.kind, row.text, row.audience, row.person, row.trust, row.importance]
    return [*values, row.importance_by, row.is_consolidated, cites]


def morning(game: Game) -> dict[str, Any]:
    """Return all results of a night, without what differs from night to night."""
    stored = list(rows.of(game.ada.pk))
    by_key = {row.key: row.text for row in stored}
    reflection = state.read(game.ada, "reflection_state")
    beings = EntityProfile.objects.filter(assistant=game.ada.pk).order_by("entity")
    return {
        "memories": sorted((_of_memory(row, by_key) for row in stored), key=str),
        "profiles": [
            [who.entity, sorted(a["text"] for a in who.attributes), round(who.favour, 6)]
            for who in beings
        ],
        "history": [m.get("content") for m in state.read(game.ada, "conversation_history")],
        "reflection": sorted(reflection),
        "importance": reflection.get("cumulative_importance"),
        "mode": [state.read(game.ada, name) for name in ("operating_mode", "sleep_phase")],
        "counts": state.read(game.ada, "last_night").get("counts"),
    }


def _check_facts(game: Game) -> list[str]:
    """Check that each entry became one fact, none is left, and the replaced fact is gone."""
    texts = [row.text for row in rows.of(game.ada.pk, kind="fact", cites__0__isnull=False)]
    facts = [text for text in texts if QUESTION not in text]
    problems = []
    if ENTRIES != len(facts) or len(set(facts)) != len(facts):
        problems.append(f"{ENTRIES} entries became {sorted(facts)}")
    left = rows.of(game.ada.pk, kind="journal", is_consolidated=False)
    problems += [f"not sorted out: {row.text}" for row in left if QUESTION not in row.text]
    problems += [f"still there: {row.text}" for row in rows.current(game.ada.pk, text=REPLACED)]
    return problems


def _check_night(game: Game) -> list[str]:
    """Check that a whole night equals one that nobody cut off, and that it did all its work."""
    now, problems = json.loads(json.dumps(morning(game))), _check_facts(game)
    path = Path(game.folder).parent / "morning.json"
    if not path.exists():
        path.write_text(json.dumps(now))
        problems += _check_counts(now)
    expected = json.loads(path.read_text())
    for name, value in expected.items():
        if value != now[name]:
            problems.append(f"{name}: {now[name]!r}, and uncut {value!r}")
    return problems


def _check_counts(now: Mapping[str, Any]) -> list[str]:
    """Check that every step had something to do."""
    wanted = {
        "entries scored": ENTRIES,
        "entries sorted": ENTRIES,
        "facts": ENTRIES,
        "facts replaced": 1,
        "profiles": 1,
        "insights": 2,
        "questions": 4,
        "summaries": 1,
        "memories let go": ENTRIES - KEPT_ENTRIES,
    }
    counts = now["counts"]
    return [f"{n}: {counts.get(n)}" for n, count in wanted.items() if counts.get(n) != count]


def _check_after_summary(game: Game) -> list[str]:
    """Check each fact; a summary that a kill prevented does not matter here."""
    _go_on(game)
    return _check_facts(game)


def _check_after_pauses(game: Game) -> list[str]:
    """Check each fact after more pauses, whatever was cut off."""
    _pauses(game)
    return _check_facts(game)


NIGHTS: dict[str, Scene] = {
    "a night": Scene(_night, _decide, _evening, _go_on, _check_night),
    "called in the night": Scene(
        _called, _decide, _first_pieces, _go_on, _check_facts, is_answered=True
    ),
    "facts before a summary": Scene(_summary, _decide, _evening, look=_check_after_summary),
    "facts while awake": Scene(_pauses, _decide, _unhurried, look=_check_after_pauses),
}
