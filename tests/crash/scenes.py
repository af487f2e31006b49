"""The scenes, each played once for every moment at which its server can be killed."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

from evennia.objects.objects import DefaultObject
from evennia.utils.create import create_object

from evennia_ai import audit, emergency, operations
from evennia_ai.agent import compaction
from evennia_ai.core.turn.conversation import call_message, result_message, user_message
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.assistants import lifecycle
from evennia_ai.operations.audit import log as auditing
from evennia_ai.operations.settings import changing
from evennia_ai.runtime import state
from tests.crash.world import Decide, Game
from tests.game.support import pump

QUESTION = "what is here?"
ANSWER = "A room full of books."
ENDS_OF_QUESTIONS = ("question_answered", "question_timeout", "question_dropped")
TOKENS = {"prompt_tokens": 900, "completion_tokens": 80}
Act = Callable[[Game], None]


def calls(name: str, **arguments: Any) -> bytes:
    """Return a reply that calls one tool."""
    return completion(None, (name, arguments), usage=TOKENS)


def _nothing(_: Game) -> None:
    """Prepare nothing."""


def _no_problems(_: Game) -> list[str]:
    """Check nothing else."""
    return []


@dataclass(frozen=True)
class Scene:
    """One scene.

    Attributes:
        act: the part in which a moment kills the server.
        decide: the model's answers, before the kill and after it.
        prepare: the part before, which nothing interrupts.
        go_on: the acts of people once the server runs again.
        look: returns problems at the end, beyond those that every scene is checked for.
        is_deletion: the assistant is deleted, and its record is then in an archive.
        is_answered: Tom asks `QUESTION`, and has to get `ANSWER` or keep waiting.
        name: the assistant whose record is checked.
    """

    act: Act
    decide: Decide
    prepare: Act = _nothing
    go_on: Act = _nothing
    look: Callable[[Game], list[str]] = _no_problems
    is_answered: bool = False
    is_deletion: bool = False
    name: str = "Ada"


def _last(body: Mapping[str, Any]) -> Mapping[str, Any]:
    message: Mapping[str, Any] = body["messages"][-1]
    return message


def _whisper(_: Mapping[str, Any] | None = None) -> bytes:
    return calls("whisper", target="Tom", message=ANSWER)


def _silence(_: Mapping[str, Any]) -> bytes:
    return calls("noop")


def _look_first(body: Mapping[str, Any]) -> bytes:
    return _whisper() if _last(body)["role"] == "tool" else calls("look")


def _fail_first(body: Mapping[str, Any]) -> bytes:
    if _last(body)["role"] == "tool":
        return _whisper()
    return calls("page", target="Nobody", message="are you there?")


def _reach_goal(body: Mapping[str, Any]) -> bytes:
    if _last(body)["role"] == "tool":
        return _whisper()
    return calls("complete_goal", number=1, outcome="it lay under the stair")


def _sum_up(body: Mapping[str, Any]) -> bytes:
    if any(tool["function"]["name"] == "whisper" for tool in body.get("tools", ())):
        return _whisper()
    return completion("Tom asked about storms, and was told about them.", usage=TOKENS)


def _think(_: Mapping[str, Any]) -> None:
    return None


def _take_lamp(body: Mapping[str, Any]) -> bytes:
    """Take the lamp; after a person's answer about it, do no more."""
    if _last(body)["role"] == "tool":
        return _whisper()
    text = json.dumps(_last(body))
    is_over = any(words in text for words in ("said yes", "said no", "dropped question"))
    return calls("noop") if is_over else calls("get", item="lamp")


def _ask(game: Game) -> None:
    game.type(f"whisper Ada = {QUESTION}")


def _note_first(body: Mapping[str, Any]) -> bytes:
    """Take a step, and then answer."""
    if any(message["role"] == "tool" for message in body["messages"]):
        return _whisper()
    return calls("write_note", text="a thing")


def _ask_with_one_step(game: Game) -> None:
    state.write(game.ada, execution_config={"max_iterations_per_tick": 1})
    _ask(game)


def _check_questions(game: Game) -> list[str]:
    """Return problems of questions: ended more than once, or still open."""
    log = auditing.audit_log(game.ada, limit=100, events=ENDS_OF_QUESTIONS).data.entries
    ended = Counter(entry["details"]["number"] for entry in log)
    wrong = [f"question {number} ended {n} times" for number, n in ended.items() if n > 1]
    left = operations.questions(game.being("Tom"), is_staff=True).data.questions
    return wrong + [f"question {item['number']} is open for ever" for item in left]


def _beat_by_beat(game: Game) -> None:
    state.write(game.ada, execution_config={"multi_action_enabled": False})


def _stop_in_the_middle(game: Game) -> None:
    _ask(game)
    emergency.trigger_emergency_stop(game.ada, "enough", by="Tom")
    pump()


def _stop_all_in_portions(game: Game) -> None:
    _ask(game)
    with mock.patch.multiple(emergency.stopping, CANCELS=1, PORTION=1):
        emergency.stop_all(operations.list_assistants(), "enough", "Tom")
        pump()


def _stop_and_clear(game: Game) -> None:
    operations.stop(game.ada, "enough", by="Tom")
    operations.clear(game.ada, by="Tom")
    pump()


def _configure(game: Game) -> None:
    changing.set_setting(game.ada, "persona", "a lamplighter", by="Tom")
    game.ada.db.max_history = 30
    changing.update_settings(game.ada, {"llm_temperature": 0.5, "llm_top_p": 0.9}, by="Tom")
    changing.unset_setting(game.ada, "llm_top_p", by="Tom")
    del game.ada.db.max_history
    audit.flush()


def _set_goals(game: Game) -> None:
    operations.add_goal(game.ada, "find the lost atlas")
    operations.add_goal(game.ada, "mend the lamp", 7)
    operations.close_goal(game.ada, 2, is_completed=False)


def _one_goal(game: Game) -> None:
    operations.add_goal(game.ada, "find the lost atlas")


def _confirm(game: Game) -> None:
    create_object(DefaultObject, key="lamp", location=game.being("Tom").location)
    state.write(game.ada, context_configs={"tick_event": {"dangerous_requires_confirm": True}})


def _answer_yes(game: Game) -> None:
    _answer_all(game, "yes")


def _answer_all(game: Game, text: str) -> None:
    for item in operations.questions(game.being("Tom"), is_staff=True).data.questions:
        operations.answer(item["number"], game.being("Tom"), text, is_staff=True)
        pump()


def _ask_and_answer(game: Game) -> None:
    _ask(game)
    _answer_yes(game)


def _ask_and_drop(game: Game) -> None:
    _ask(game)
    _answer_all(game, "drop")


def _talked(game: Game) -> None:
    talk = []
    for number in range(16):
        call = ToolCall(f"c{number}", "say", {"message": f"answer {number}"})
        talk.append(user_message(f'Tom says to you: "question {number} {"about storms " * 12}"'))
        talk += [call_message(call), result_message(call, ToolResult(True, "said"))]
    game.ada.work.history = list(talk)
    state.write(game.ada, conversation_history=talk)


def _begin_anew(game: Game) -> None:
    operations.reset_history(game.ada, by="Tom")
    pump()


def _compact(game: Game) -> None:
    compaction.compact_conversation_history(game.ada)
    pump()


def _make_edda(game: Game) -> None:
    operations.create_assistant("Edda", location=game.being("Tom").location, persona="a clerk")
    pump()


def _delete_ada(game: Game) -> None:
    lifecycle.delete_assistant(game.ada, by="Tom", reason="she moves on")
    pump()


SCENES: dict[str, Scene] = {
    "a whisper, a look and an answer": Scene(_ask, _look_first, is_answered=True),
    "one step a beat": Scene(_ask, _look_first, _beat_by_beat, Game.beat, is_answered=True),
    "a tool that fails": Scene(_ask, _fail_first, is_answered=True),
    "a stop while the model thinks": Scene(_stop_in_the_middle, _think),
    "a stop of all in portions": Scene(_stop_all_in_portions, _think, _make_edda),
    "a stop, and cleared": Scene(_stop_and_clear, _silence),
    "settings": Scene(_configure, _silence),
    "goals by staff": Scene(_set_goals, _silence),
    "a goal by her tool": Scene(_ask, _reach_goal, _one_goal, is_answered=True),
    "a question answered": Scene(
        _ask_and_answer, _take_lamp, _confirm, _answer_yes, is_answered=True
    ),
    "a question dropped": Scene(_ask_and_drop, _take_lamp, _confirm, _answer_yes, is_answered=True),
    "a limit's question": Scene(
        _answer_yes,
        _note_first,
        _ask_with_one_step,
        _answer_yes,
        _check_questions,
        is_answered=True,
    ),
    "a new conversation": Scene(_begin_anew, _silence, _talked),
    "a summary": Scene(_compact, _sum_up, _talked),
    "an assistant made": Scene(_make_edda, _silence, name="Edda"),
    "an assistant deleted": Scene(_delete_ada, _silence, is_deletion=True),
}
