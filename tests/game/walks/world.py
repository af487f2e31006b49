"""The world of the model check and the soak test: assistants, people, time and faults.

Only the model, the clock and the people's screens are doubles. `World` does one thing at a time,
checks everything after it, and raises when an invariant is broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import globalLogPublisher

from evennia_ai import approvals, emergency, operations
from evennia_ai.agent import compaction, failure_notices
from evennia_ai.core.safety.lockout import State
from evennia_ai.core.safety.questions import Question
from evennia_ai.emergency import RETURNED_LINE
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from evennia_ai.tasks import task_waits
from tests.engine.doubles import dangling
from tests.game.walks import tools
from tests.game.walks.accounts import Accounts, Listener, Sent, Traces, check_ledger
from tests.game.walks.model import WalkedModel
from tests.game.walks.server import Server, Snapshot

LINES = {
    "excused": outgoing.FAILURE_LINE,
    "crowded": failure_notices.BUSY_LINE,
    "returned": RETURNED_LINE,
    "hushed": "{name} nods and is quiet here",
    "unhushed": "{name} looks up, free to speak here",
    "deaf": outgoing.STOPPED_LINE,
    "busy": outgoing.TOO_MUCH_LINE,
    "spent": "{name} stifles a yawn.",
    "cooled": failure_notices.COOLING_LINE.partition("{while}")[0],
}
OLD_TALK = [
    {"role": role, "content": f"{number}: {'about storms and the sea ' * 20}"}
    for number in range(9)
    for role in ("user", "assistant")
]
# The lines that a stopped assistant may still be heard with.
WHILE_STOPPED = ("returned", "hushed", "unhushed", "deaf")
STOPPED = (State.STOPPED, State.SAFETY_LOCKOUT)
FREE = {"safety_config": {}, "budget_config": {}, "execution_config": {"sub_agents_enabled": True}}


class World:
    """Assistants, people, a model and a clock.

    Args:
        scripts: the assistants. Each asks the model of its own name.
        people: characters; the first may control the assistants.
        clock: the clock of all assistants.
        pump: runs everything that is due.
        has_reactor: whether the clock is also the process's reactor.
    """

    def __init__(
        self,
        scripts: Iterable[Any],
        people: Iterable[Any],
        clock: Any,
        pump: Callable[[], None],
        *,
        has_reactor: bool = False,
    ) -> None:
        self.people = {person.key: person for person in people}
        self.staff = next(iter(self.people.values()))
        self.clock, self._pump, self._has_reactor = clock, pump, has_reactor
        self.accounts = Accounts()
        self.model = WalkedModel(self.accounts.asker)
        self.scripts = {script.key: script for script in scripts}
        self.model.scripts = self.scripts
        self.states = dict.fromkeys(self.scripts, State.WAITING_FOR_EVENT)
        self._under_way: dict[str, set[str]] = {}
        self._traces = Traces(self.accounts.wrong)
        globalLogPublisher.addObserver(self._traces)
        tools.WRONG.clear()
        tools.BEGUN.clear()
        for script in self.scripts.values():
            state.write(script, llm_model=script.key, **FREE)
        self.server = Server(self.scripts, self.model, clock, has_reactor=has_reactor)

    def close(self) -> None:
        globalLogPublisher.removeObserver(self._traces)

    # ---- what happens --------------------------------------------------------------------------

    def send(self, person: str, key: str, way: str = "whisper", more: str = "") -> None:
        sent = self.accounts.begin(person, key)
        speaker, body = self.people[person], self.scripts[key].obj
        words = f"{sent.token} {more}".strip()
        if way == "whisper":
            speaker.at_say(words, receivers=[body], whisper=True)
        else:
            speaker.at_say(f"@{key} {words}")
        items = [item for item in self.stored(key) if item["body"].split()[:1] == [sent.token]]
        if items:
            sent.event_id = items[0]["id"]
        else:
            self._refused(sent)
        self.settle()

    def _refused(self, sent: Sent) -> None:
        """Check that the record says why a message did not get into the inbox."""
        records = self.scripts[sent.key].work.decisions.newest()
        steps = [step for step, _ in records[0].steps] if records else []
        known = {"silent", "refused", "hushed"} & set(steps)
        if not known:
            self.accounts.wrong.append(f"{sent.token} came to nothing: {steps}")
        self.accounts.close(sent, "refused")

    def answer(self, kind: str, index: int = 0) -> None:
        if self.model.held:
            self.model.answer(kind, index)
        self.settle()

    def sum_up(self, key: str) -> None:
        """Give an assistant a long conversation, and let it be summed up."""
        script = self.scripts[key]
        state.write(script, conversation_history=OLD_TALK)
        script.work.history = list(OLD_TALK)
        if not script.silence:
            compaction.compact_conversation_history(script)
        self.settle()

    def end_tool(self, index: int = 0, *, fails: bool = False) -> None:
        if tools.BEGUN:
            begun = tools.BEGUN.pop(index % len(tools.BEGUN))
            if fails:
                begun.errback(RuntimeError("it fell into the sea"))
            else:
                begun.callback("done at last")
        self.settle()

    def pass_time(self, seconds: float) -> None:
        """Let time pass, each timer at its own moment; then every assistant's timer fires."""
        end = self.clock.seconds() + seconds
        while self.clock.calls and (due := self.clock.calls[0].getTime()) <= end:
            self.clock.advance(max(0.0, due - self.clock.seconds()))
            self._pump()
        self.clock.advance(max(0.0, end - self.clock.seconds()))
        if not self._has_reactor:
            for script in self.scripts.values():
                script.at_repeat()
        self.settle()

    def questions(self) -> list[tuple[Any, Question]]:
        pending = approvals.pending
        return [(script, q) for script in self.scripts.values() for q in pending(script)]

    def decide(self, text: str, index: int = 0) -> None:
        """Answer an open question; with none open, one that is closed."""
        questions = self.questions()
        number = questions[index % len(questions)][1].number if questions else 1
        deferred: Deferred[Any] = operations.answer(number, self.staff, text, is_staff=True)
        deferred.addErrback(lambda failure: self.accounts.wrong.append(failure.getTraceback()))
        self.settle()

    def do(self, act: Callable[..., Any], key: str = "", /, *arguments: Any, **more: Any) -> None:
        """Do something to one assistant, or without a key to all at once."""
        target = self.scripts[key] if key else list(self.scripts.values())
        act(target, *arguments, **more)
        self.settle()

    def set(self, key: str, **values: Any) -> None:
        state.write(self.scripts[key], **values)
        self.settle()

    # ---- restarts ------------------------------------------------------------------------------

    def reload(self) -> None:
        """Shut the server down in order, and start it again."""
        self.server.end()
        self._observe()
        self.server.start_again()
        self.settle()

    def crash(self) -> None:
        """Kill the process, and start it again."""
        self.server.kill()
        self.server.start_again()
        self.settle()

    def crash_while_speaking(self, kind: str = "answer") -> None:
        """Kill the process in the moment in which somebody hears an answer."""
        snapshot = Snapshot(self.scripts, self.model)
        Listener.on_hearing.append(snapshot.take)
        try:
            if self.model.held:
                self.model.answer(kind)
            self._pump()
        finally:
            Listener.on_hearing.remove(snapshot.take)
        if snapshot.is_taken:
            snapshot.restore()
            self.crash()
        else:
            self.settle()

    def stop_while_speaking(self, kind: str = "answer") -> None:
        """Stop an assistant at the moment in which somebody hears its answer."""
        stop = partial(operations.stop, reason="enough", by="Tom")
        Listener.on_hearing.append(stop)
        try:
            if self.model.held:
                self.model.answer(kind)
            self._pump()
        finally:
            Listener.on_hearing.remove(stop)
        self.settle()

    # ---- looking -------------------------------------------------------------------------------

    def stored(self, key: str) -> list[Mapping[str, Any]]:
        return list(state.read(self.scripts[key], "pending_events"))

    def settle(self) -> None:
        """Run everything that is due, and check all invariants."""
        self._pump()
        self._observe()
        self.check()

    def _observe(self) -> None:
        lines = self._listen()
        for key, script in self.scripts.items():
            waiting = {item["id"] for item in self.stored(key)}
            for sent in [s for s in self.accounts.open.values() if s.key == key]:
                if sent.event_id and sent.event_id not in waiting:
                    self._closed(sent, lines)
            noted = state.read(script, "current_tool_call") or {}
            has_effect = "tool" in noted or noted.get("effects")
            self._under_way[key] = set(noted["events"]) if has_effect else set()

    def _listen(self) -> Counter[tuple[str, str, str]]:
        """Count the fixed lines that each person heard of each assistant since the last call."""
        lines: Counter[tuple[str, str, str]] = Counter()
        in_time = self._heard_in_time()
        for name, person in self.people.items():
            for message in person.ndb.while_stopped or ():
                if not self._line_of(message, WHILE_STOPPED) and message.shown not in in_time:
                    self.accounts.wrong.append(f"heard while stopped: {message.shown}")
            for message in person.messages:
                if message.sender is not None:
                    self.accounts.hear(name, message.shown)
                    lines[name, message.sender.key, self._line_of(message, LINES)] += 1
            person.ndb.messages, person.ndb.while_stopped = [], []
        return lines

    def _heard_in_time(self) -> set[str]:
        """Lines that somebody heard before the stop; others may hear the same just after it."""
        return {
            message.shown
            for person in self.people.values()
            for message in person.messages
            if not any(message is late for late in person.ndb.while_stopped or ())
        }

    @staticmethod
    def _line_of(message: Any, names: Iterable[str]) -> str:
        """The name in LINES of the line in a message, or ""."""
        name = getattr(message.sender, "key", "")
        lines = {word: LINES[word].replace("{name}", name) for word in names}
        return next((word for word, line in lines.items() if line in message.shown), "")

    def _closed(self, sent: Sent, lines: Counter[tuple[str, str, str]]) -> None:
        """Note the end of a message that has left the inbox."""
        words = {word for word in LINES if lines[sent.person, sent.key, word]}
        if sent.answers:
            self.accounts.close(sent, "answered")
        elif ending := next((w for w in ("returned", "hushed", "excused") if w in words), ""):
            self.accounts.close(sent, ending)
        elif words & {"cooled", "spent", "crowded"}:
            self.accounts.close(sent, "excused")
        elif sent.token in self.model.chosen:
            self.accounts.close(sent, "silent by choice")
        elif sent.event_id in self._under_way[sent.key]:
            self.accounts.close(sent, "cut off while it was done")
        else:
            steps = self.scripts[sent.key].work.decisions.newest()
            self.accounts.wrong.append(f"{sent.token} is lost: {[r.steps for r in steps][:3]}")
            self.accounts.close(sent, "lost")
        self.model.chosen.discard(sent.token)

    def check(self) -> None:
        wrong = [*tools.WRONG, *self.model.wrong, *self.accounts.wrong]
        assert not wrong, "\n".join(wrong)
        for key, script in self.scripts.items():
            self._check_one(key, script)
        keys = [question.asking.key for _, question in self.questions()]
        assert len(set(keys)) == len(keys), f"asked twice: {keys}"
        if not self._has_reactor:  # a whole night has too many calls for that
            check_ledger()
            self.model.till.written()

    def _check_one(self, key: str, script: Any) -> None:
        now, work = emergency.state_of(script), script.work
        assert list(work.inbox) == self.stored(key), f"{key}: its inbox is not as it is stored"
        stored = list(state.read(script, "conversation_history"))
        assert work.history == stored, f"{key}: its history is not as it is stored"
        noted = state.read(script, "current_tool_call") or {}
        open_calls = dangling(work.history) + dangling(noted.get("said", ()))
        assert not open_calls, f"{key}: calls without a result: {open_calls}"
        assert 0 <= state.read(script, "consecutive_errors"), f"{key}: errors below 0"
        if now in STOPPED:
            left = {
                "messages": work.inbox,
                "a turn": work.in_flight is not None,
                "questions": approvals.pending(script),
                "model calls": [held for held in self.model.held if held.key == key],
            }
            assert not any(left.values()), f"{key} is {now} and has {left}"
        if self.states[key] is State.STOPPED:
            assert now is not State.SAFETY_LOCKOUT, "a lockout changed a stop"
        self.states[key] = now

    # ---- the end -------------------------------------------------------------------------------

    def drain(self) -> None:
        """Let everything that waits end, and check that each message came to exactly one end."""
        self.model.ready.clear()
        self.model.choose = str
        self.model.is_late = False
        for key in self.scripts:
            self.set(key, enabled=True, hushed={}, **FREE)
            self.scripts[key].work.hushed = {}
            self.do(operations.clear, key)
        for _ in range(60):
            if not (self.accounts.open or self._is_busy()):
                break
            while self.model.held:
                self.answer("answer")
            for _ in self.questions():
                self.decide("no")
            self.pass_time(61)
        assert not self.accounts.open, f"never ended: {self.accounts.open}"
        assert not self._is_busy(), "something is under way for ever"
        assert self.accounts.sent == sum(self.accounts.ends.values())
        if not self._has_reactor:
            self.model.till.check()

    def _is_busy(self) -> bool:
        works = [script.work for script in self.scripts.values()]
        is_thinking = any(work.inbox or work.is_ticking or work.compacting for work in works)
        return is_thinking or bool(task_waits.every() or self.questions())
