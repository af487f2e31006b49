"""A program operates an assistant over HTTP while people talk to it by telnet."""

import gzip
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from stat import S_IMODE
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, UNHURRIED, Game
from tests.journeys.staging import find_trouble, measure_log, read_new_log, run
from tests.journeys.web import Web, status_from

ROOM = "The Reading Room"
EDDA = {
    "key": "Edda",
    "desc": "A scribe with ink on her sleeves.",
    "persona": "Edda copies old charts.",
    "location": ROOM,
    "aliases": ["scribe"],
}
ONE = "assistants/Edda/"
HEARD = ("sender", "source", "text")
DEAF = "Edda does not seem to hear you"
ANSWER_SECONDS = 30.0
ANONYMOUS = 20


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Settings with few limits, in which staff may read the metrics."""
    config = {
        "metrics": "staff",
        "writes_per_minute": 0,
        "tokens_per_minute": 100,
        "anonymous_per_minute": ANONYMOUS,
    }
    return {**UNHURRIED, "EVENNIA_AI_API_CONFIG": config}


@pytest.fixture(scope="module")
def program(game: Game) -> Web:
    """A script of the owner's, with a token that it got over HTTP."""
    return Web.with_token(game.ports.web, ADMIN_NAME, ADMIN_PASSWORD)


@pytest.fixture(autouse=True)
def edda(game: Game, program: Web, model: FakeModel) -> Iterator[None]:
    """Edda, made over HTTP and deleted after the test, which leaves no traceback in the log."""
    start = measure_log(game)
    answer = program.ask("POST", "assistants/", EDDA)
    assert (201, "Edda") == (answer.status, answer.told["key"])
    assert f"/api/ai/{ONE}" == answer.headers["Location"]
    yield
    for row in program.read("assistants/")["assistants"]:
        if row["key"] not in ("Ada", "Brass"):
            program.get_done("DELETE", f"assistants/{row['key']}/")
    assert [] == find_trouble(read_new_log(game, start))


def answer_of(words: str) -> str:
    """A pattern for Edda's whispered answer to `words`."""
    return rf'Edda whispers: "I heard: {re.escape(words)}"'


def versions(program: Web, event: str) -> list[dict[str, Any]]:
    """The entries of one kind in Edda's record, the newest first."""
    return program.read(f"{ONE}audit/?event={event}")["entries"]


def test_without_a_port_nothing_of_the_mcp_server_is_there(admin: Player) -> None:
    names = ("mcp", "uvicorn", "starlette", "evennia_ai.api.mcp.calls")
    assert "[]" == run(admin, f"import sys; told = [n for n in {names} if n in sys.modules]")


def test_made_over_http_talked_to_by_telnet_and_explained_over_http(
    enter: Enter, program: Web
) -> None:
    """The API tells why she answered, what it cost, and all that she did."""
    assert EDDA == {name: program.read(ONE)[name] for name in EDDA}
    tom = enter("Tom")
    tom.ask("look scribe", re.escape(EDDA["desc"]))
    tom.ask("whisper edda = where is the atlas?", answer_of("where is the atlas?"))
    masked = program.read(f"{ONE}events/")["records"][0]
    assert ("Tom", "whisper", "(19 characters)") == tuple(masked[name] for name in HEARD)
    row = program.read(f"{ONE}events/?reveal=true")["records"][0]
    assert ("Tom", "whisper", "where is the atlas?") == tuple(row[name] for name in HEARD)
    assert ["queued", "taken", "answered"] == [
        step["step"] for step in row["steps"] if step["step"] not in ("may do", "recalled")
    ]
    why = program.read(f"{ONE}events/{row['number']}/")
    assert masked == {name: why["record"][name] for name in masked}
    assert "atlas" not in why["text"]
    why = program.read(f"{ONE}events/{row['number']}/?reveal=true")
    assert row == {name: why["record"][name] for name in row}
    assert 'answered: whisper "I heard: where is the atlas?"' in why["text"]
    used = program.read(f"{ONE}usage/")
    assert (1, 0) == (used["tools"]["whisper"]["calls"], used["tools"]["whisper"]["errors"])
    assert 1 == used["totals"]["ever"]["calls"]
    assert ["Tom"] == [person["name"] for person in used["by_player"]]
    events = [entry["event"] for entry in reversed(program.read(f"{ONE}audit/")["entries"])]
    assert ["ToolExecuted", "TickCompleted", "words_revealed", "words_revealed"] == events[-4:]
    (tick,) = versions(program, "TickCompleted")
    spent = tick["details"]["prompt_tokens"] + tick["details"]["completion_tokens"]
    assert spent == used["totals"]["ever"]["tokens"]
    messages = program.read(f"{ONE}history/")["messages"]
    assert ["user", "assistant", "tool"] == [message["role"] for message in messages]


def test_stopped_in_game_seen_over_http_and_the_state_before(
    enter: Enter, admin: Player, program: Web
) -> None:
    """The record holds the state before a stop in the game, and the API clears the stop."""
    tom = enter("Tom")
    tom.ask("whisper edda = before", answer_of("before"))
    halted = program.read("health/")["assistants"]["stopped"]
    admin.ask("assistant emergency stop edda", r"Edda is stopped\.")
    status = program.read(f"{ONE}status/")
    assert (True, "stopped") == (status["emergency_stop"], status["state"])
    assert halted + 1 == program.read("health/")["assistants"]["stopped"]
    tom.ask("whisper edda = and now?", DEAF)
    (stop,) = versions(program, "EmergencyStopTriggered")
    assert ("admin", "game") == (stop["details"]["by"], stop["details"]["via"])
    at = stop["version"]
    seen = [program.read(f"{ONE}audit/{version}/")["state"] for version in (at - 1, at)]
    assert [False, True] == [state["is_stopped"] for state in seen]
    assert 1 == seen[0]["tick_count"]
    changes = program.read(f"{ONE}audit/difference/?a={at - 1}&b={at}")["changes"]
    assert {"path": "is_stopped", "before": False, "after": True} in changes
    program.get_done("POST", f"{ONE}emergency/clear/")
    again = program.ask("POST", f"{ONE}emergency/clear/")
    assert (409, "conflict") == (again.status, again.told["error"]["code"])
    tom.ask("whisper edda = and now?", answer_of("and now?"))
    (clear,) = versions(program, "EmergencyStopCleared")
    assert ("admin", "api") == (clear["details"]["by"], clear["details"]["via"])
    assert "stopped" == clear["details"]["cause"]


def test_a_moment_leads_to_the_state_it_had(program: Web) -> None:
    """A moment between two changes has a state; one before she was made has none."""
    program.get_done("PATCH", f"{ONE}configuration/", {"max_history": 41})
    between = datetime.now(UTC).isoformat()
    program.get_done("PATCH", f"{ONE}configuration/", {"max_history": 42})
    then = program.read(f"{ONE}audit/state/?at={between.replace('+', '%2B')}")
    now = program.read(f"{ONE}audit/state/")
    assert [41, 42] == [each["state"]["settings"]["max_history"] for each in (then, now)]
    assert then["version"] < now["version"]
    long_ago = program.ask("GET", f"{ONE}audit/state/?at=2001-01-01T00:00:00%2B00:00")
    assert 404 == long_ago.status


def test_told_over_http_heard_in_the_room(enter: Enter, program: Web, model: FakeModel) -> None:
    tom = enter("Tom")
    say = {"tool": "say", "arguments": {"message": "Supper is ready."}}
    model.queue({"calls": [say]})
    answer = program.get_done("POST", f"{ONE}tell/", {"instruction": "Call them to supper."})
    tom.expect(r'Edda says, "Supper is ready\."')
    why = program.read(f"{ONE}events/{answer['number']}/")
    assert ADMIN_NAME == why["record"]["sender"]
    by_hand = {"arguments": {"message": "Mind the stairs."}}
    done = program.get_done("POST", f"{ONE}tools/say/execute/", by_hand)
    tom.expect(r'Edda says, "Mind the stairs\."')
    assert (True, "say") == (done["success"], done["tool"])
    (fact,) = versions(program, "tool_by_hand")
    assert "admin" == fact["details"]["by"]
    wrong = program.ask("POST", f"{ONE}tools/say/execute/", {"arguments": {"words": "Hm."}})
    assert 400 == wrong.status
    assert 404 == program.ask("POST", f"{ONE}tools/sing/execute/").status


def test_configured_on_either_side_seen_on_the_other(admin: Player, program: Web) -> None:
    path = "execution_config.max_iterations_per_tick"
    program.get_done("PATCH", f"{ONE}configuration/", {path: 3, "max_history": 44})
    admin.ask("assistant config edda show max_history", r"\b44\b")
    admin.ask(f"assistant config edda set {path} 4", "4")
    assert 4 == program.read(f"{ONE}configuration/{path}/")["value"]
    wrong = program.ask("PATCH", f"{ONE}configuration/", {"max_history": 45, "tick_rate": "often"})
    assert (400, ["tick_rate"]) == (wrong.status, list(wrong.told["error"]["fields"]))
    assert 44 == program.read(f"{ONE}configuration/max_history/")["value"]
    via = [entry["details"]["via"] for entry in versions(program, "ConfigurationChanged")]
    assert {"api", "game"} == set(via)
    admin.ask("aiaudit edda check", "The record of Edda agrees with what it stores")


def test_a_question_is_answered_over_http(
    enter: Enter, admin: Player, program: Web, model: FakeModel
) -> None:
    """She asks staff on their screen; a program answers, and she goes on."""
    note = {"tool": "write_note", "arguments": {"text": "a step"}}
    model.queue(*({"calls": [note]} for _ in range(5)))
    model.behave(content="I found all of it.")
    tom = enter("Tom")
    tom.send("whisper edda = look it all up")
    number = int(admin.expect(r"Edda asks \(question (\d+), about a limit\)")[1])
    (question,) = program.read(f"{ONE}questions/")["questions"]
    assert (number, "Edda") == (question["number"], question["assistant"])
    program.get_done("POST", f"questions/{number}/answer/", {"answer": "yes"})
    tom.expect(r'Edda whispers: "I found all of it\."')
    assert [] == program.read("questions/")["questions"]
    again = program.ask("POST", f"questions/{number}/answer/", {"answer": "yes"})
    assert 404 == again.status


def test_cloned_and_deleted_over_http_gone_in_game_with_its_record_kept(
    game: Game, enter: Enter, admin: Player, program: Web
) -> None:
    """A clone knows nothing of the talk; the record of a deleted assistant is in a file."""
    tom = enter("Tom")
    tom.ask("whisper edda = a secret", answer_of("a secret"))
    clone = program.ask("POST", f"{ONE}clone/", {"key": "Vesna"})
    assert 201 == clone.status
    assert 0 == program.read("assistants/Vesna/history/")["count"]
    tom.ask("whisper vesna = hello", r'Vesna whispers: "I heard: hello"')
    gone = program.get_done("DELETE", "assistants/Vesna/")
    assert 404 == program.ask("GET", "assistants/Vesna/").status
    admin.ask("assistant status vesna", "There is no assistant named vesna")
    tom.ask("whisper vesna = hello?", "(?i)could not find 'vesna'")
    packed = (game.folder / "server/ai_archive" / gone["archive"]).read_bytes()
    lines = [json.loads(line) for line in gzip.decompress(packed).splitlines()]
    text = json.dumps(lines)
    assert "AssistantArchived" in json.dumps(lines[-1])
    assert "removed over the API" in json.dumps(lines[-1])
    assert "a secret" not in text
    tom.ask("whisper edda = still you?", answer_of("still you?"))


def test_hole_c14_c15_c16_one_client_harms_nobody_else(game: Game, program: Web) -> None:
    """Forged headers lift no limit, and refused requests leave no session behind."""
    port, count = game.ports.web, "SELECT COUNT(*) FROM django_session"
    sessions = game.query(count)
    forged = [f"203.0.113.{number}" for number in range(ANONYMOUS + 20)]
    statuses = [
        status_from("127.0.0.9", port, ONE, X_Forwarded_For=each, X_Evennia_AI_Peer=each)
        for each in forged
    ]
    assert [401] * ANONYMOUS + [429] * 20 == statuses
    assert 401 == status_from("127.0.0.10", port, ONE)
    assert {200} == {status_from("127.0.0.9", port, "health/") for _ in range(ANONYMOUS + 5)}
    assert "Edda" == program.read(ONE)["key"]
    assert sessions == game.query(count)
    files = [game.database.with_name(f"{game.database.name}{end}") for end in ("", "-wal", "-shm")]
    assert {0o600} == {S_IMODE(path.stat().st_mode) for path in files if path.exists()}
    tokens = game.query("SELECT * FROM evennia_ai_accesstoken")
    assert tokens
    assert program.token[8:] not in repr(tokens)


def test_a_kill_while_the_model_answers_leaves_record_and_state_agreeing(
    game: Game, enter: Enter, program: Web, model: FakeModel
) -> None:
    """The command and the API agree after the kill, and the token is still valid."""
    tom = enter("Tom")
    tom.ask("whisper edda = first", answer_of("first"))
    program.get_done("PATCH", f"{ONE}configuration/", {"max_history": 43})
    model.queue({"kind": "hang"})
    tom.send("whisper edda = before the kill?")
    model.wait_for_calls(2)
    before = program.read(f"{ONE}audit/?limit=100")["entries"]
    game.crash()
    model.release()
    tom.come_back()
    tom.ask("whisper edda = and after?", answer_of("and after?"), ANSWER_SECONDS)
    assert 1 == tom.count('Edda whispers: "I heard: before the kill?"')
    after = program.read(f"{ONE}audit/?limit=100")["entries"]
    assert before == after[-len(before) :]
    assert list(range(len(after), 0, -1)) == [entry["version"] for entry in after]
    state = program.read(f"{ONE}audit/state/")["state"]
    assert (43, 3) == (state["settings"]["max_history"], state["tick_count"])
    with game.log_in_admin() as owner:
        owner.ask("aiaudit edda check", "The record of Edda agrees with what it stores")
