"""One moment of one scene: played in a child that is killed, and checked in another process."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from twisted.logger import LogLevel, formatEvent, globalLogPublisher

from evennia_ai import audit
from evennia_ai.core.safety.questions import TOOL_PREFIX
from evennia_ai.operations.audit.log import check_audit
from tests.crash import comparing, databases, moments, world
from tests.crash.harness import KILLED, SURVIVED, in_child
from tests.crash.liars import LIARS
from tests.crash.nights import NIGHTS
from tests.crash.scenes import ANSWER, QUESTION, SCENES, Scene
from tests.game.support import pump

LABELS = "labels.json"
WHISPER = "whisper"


def build() -> None:
    """Make the world in the template."""
    world.build()
    audit.flush()
    connections.close_all()


def _open(folder: Path) -> None:
    connections["default"].settings_dict["NAME"] = databases.name_of(folder)
    settings.EVENNIA_AI_AUDIT_CONFIG = {"archive_folder": str(folder / "archive")}


def play(name: str, number: int, folder: Path, keep: moments.Keep | None = None) -> None:
    """Play a scene up to a moment (0: to its end), and write down the problems.

    Args:
        keep: called with the number of each moment at which something begins.
    """
    ended = in_child(lambda: _act(_scene(name), number, folder, keep), folder)
    databases.await_end(folder)
    look(name, folder, ended)


def look(name: str, folder: Path, ended: int) -> None:
    """Write down the problems that the process of a scene left."""
    scene, problems = _scene(name), []
    if ended in (KILLED, SURVIVED):
        _open(folder)
        problems = _look(scene, folder)
    labels = folder / LABELS
    data = json.loads(labels.read_text()) if labels.exists() else {"labels": [], "unseen": []}
    problems += [f"not a moment of ours: {sql}" for sql in data["unseen"]]
    result = {"ended": ended, "labels": data["labels"], "problems": problems}
    (folder / "result.json").write_text(json.dumps(result))


def _scene(name: str) -> Scene:
    return (SCENES | LIARS | NIGHTS)[name]


def _act(scene: Scene, number: int, folder: Path, keep: moments.Keep | None) -> None:
    _open(folder)
    game = world.Game(folder, scene.decide)
    game.start()
    scene.prepare(game)
    audit.flush()
    now = moments.NOW
    now.fatal, now.keep, now.labels = number, keep, []
    with now.watched():
        scene.act(game)
        audit.flush()
    data = {"labels": now.labels, "unseen": now.unseen}
    (folder / LABELS).write_text(json.dumps(data))


def _look(scene: Scene, folder: Path) -> list[str]:
    """Return the problems before a new server does anything, and after it has run."""
    errors: list[str] = []
    globalLogPublisher.addObserver(lambda event: _note_error(event, errors))
    problems = [f"at the start: {item}" for item in _differences(scene)]
    was_heard = _was_heard(scene)
    game = world.Game(folder, scene.decide)
    game.start()
    scene.go_on(game)
    pump()
    audit.flush()
    problems += [f"once it runs: {item}" for item in _differences(scene)]
    problems += _effects(scene, folder, was_heard=was_heard) + scene.look(game)
    return problems + errors


def _note_error(event: dict[str, Any], errors: list[str]) -> None:
    if event.get("log_level") in (LogLevel.error, LogLevel.critical):
        errors.append(f"logged: {formatEvent(event)}"[:2000])


def _differences(scene: Scene) -> list[str]:
    number = comparing.script_id(scene.name)
    if number is None:
        return _leftovers(scene.name)
    script = ScriptDB.objects.get(id=number)
    checked = check_audit(script, fresh=True)
    problems = [] if checked.ok and not checked.data else [checked.message]
    bodiless = [] if script.obj is not None else ["it has no body"]
    return problems + bodiless + comparing.differences(number, scene.name)


def _leftovers(name: str) -> list[str]:
    """Return traces of an assistant that does not exist."""
    left = [f"a record of {count} events"] if (count := len(comparing.events_of(name))) else []
    left += ["a body"] if ObjectDB.objects.filter(db_key=name).exists() else []
    return [f"no assistant, but {item}" for item in left]


def _waits(scene: Scene) -> bool:
    number = comparing.script_id(scene.name)
    values = comparing.stored(number) if number is not None else {}
    return any(QUESTION in item["body"] for item in values.get("pending_events") or ())


def _was_heard(scene: Scene) -> bool:
    """Return True where Ada had heard Tom's question before the kill."""
    return _waits(scene) or any(
        item.event == comparing.TICK for item in comparing.events_of(scene.name)
    )


def _effects(scene: Scene, folder: Path, *, was_heard: bool) -> list[str]:
    """Check that Tom was told once what the record says, and that his question is not lost."""
    events = comparing.events_of(scene.name)
    times = sum(ANSWER in line for line in world.lines_told(folder))
    done, unknown = comparing.successes(events, WHISPER), comparing.unknowns(events, WHISPER)
    problems = []
    if times > 1:
        problems.append(f"he was told {times} times")
    if not done <= times <= done + unknown:
        problems.append(f"recorded {done} times, unknown {unknown} times, but told {times} times")
    # A kill in the middle of an effect ends the question: the outcome is unknown, and the record
    # says so.
    is_settled = times or _waits(scene) or comparing.unknowns(events)
    if scene.is_answered and was_heard and not is_settled:
        problems.append("the question is lost")
    problems += _lamp(scene, events)
    if not comparing.script_id(scene.name) and scene.is_deletion and not _archives(folder):
        problems.append("she is gone, and so is her record")
    return problems


def _lamp(scene: Scene, events: list[comparing.RecordedFact]) -> list[str]:
    """Check that the record knows of the lamp that she took, and of a yes that let her."""
    lamp, problems = ObjectDB.objects.filter(db_key="lamp").first(), []
    is_taken = lamp is not None and lamp.location.key == scene.name
    done, unknown = comparing.successes(events, "get"), comparing.unknowns(events, "get")
    if done and not is_taken:
        problems.append("the record says that she took the lamp, and she has not")
    if is_taken and not done + unknown:
        problems.append("she took the lamp, and the record does not know")
    asked = (item.details for item in events if item.event == "question_asked")
    calls = {each["number"] for each in asked if str(each["kind"]).startswith(TOOL_PREFIX)}
    answers = (item.details for item in events if item.event == "question_answered")
    answers = (each for each in answers if each["number"] in calls)
    if any(answer.get("choice") == "yes" for answer in answers) and not done + unknown:
        problems.append("a yes was given, and nothing came of it")
    return problems


def _archives(folder: Path) -> list[Path]:
    return list((folder / "archive").glob("*.jsonl.gz"))
