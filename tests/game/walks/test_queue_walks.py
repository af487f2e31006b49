"""Random walks of messages, limits, leaves, stops and restarts: nothing is lost or answered twice.

EVENNIA_AI_TEST_WALKS sets their number, EVENNIA_AI_TEST_SEED the first seed.
"""

import os
import re
from collections import Counter
from random import Random
from typing import Any

from evennia_ai import approvals, operations
from tests.game.agent.test_turn_limits import LimitsTest, look
from tests.game.messages.test_waiting import WaitingTest
from tests.game.support import pump, whispers

WALKS = int(os.environ.get("EVENNIA_AI_TEST_WALKS", "12"))
SEED = int(os.environ.get("EVENNIA_AI_TEST_SEED", "1"))
STEPS = 14
WORD = re.compile(r"word(\d+)x")
# Lines that are neither an answer nor a notice about one.
ON_THE_WAY = ("thinks for a moment", "still thinking", "pauses")


class WalksTest(LimitsTest, WaitingTest):
    """Tom and Mira talk, wait, leave and come back; the model answers, or takes its steps.

    Attributes:
        asked: the person who said each word, by its number.
        aloud: the numbers of the words that were said aloud.
    """

    hearing = {
        "calls_per_player": 2,
        "queued_per_player": 1,
        "queued_turns": 2,
        "batch_messages": 3,
        "pending_per_player": 3,
    }

    def begin(self, seed: int) -> None:
        self.random = Random(seed)
        self.asked: dict[int, Any] = {}
        self.aloud: set[int] = set()
        self.model.answers.clear()
        self.model.bodies.clear()
        self.forget()

    def ask_something(self) -> None:
        """Somebody says a new word, aloud or in private."""
        person = self.random.choice((self.tom, self.mira))
        if person.location != self.room1:
            return
        number = len(self.asked)
        self.asked[number] = person
        way = self.random.choice(("whisper Ada = ", "whisper Ada = ", "say @ada "))
        if way.startswith("say"):
            self.aloud.add(number)
        self.type(person, f"{way}word{number}x")

    def reply(self) -> None:
        """The model answers the asker, or takes one more step."""
        if not self.model.waiting:
            return
        words = self._asked_now()
        if self.random.random() < 0.6 or not words:
            self.model.answer(look(self.random.randrange(10**6)))
        else:
            text = " ".join(f"word{number}x" for number in words)
            self.model.answer(whispers(text, self.asked[words[0]].key))
        pump()

    def _asked_now(self) -> list[int]:
        """The numbers of the words that the running turn answers."""
        ids = self.ada_script.work.running
        events = [event for event in self.waiting() if event.id in ids]
        return [int(word) for event in events for word in WORD.findall(event.body)]

    def decide(self) -> None:
        """Questions about limits are answered yes, no, or not at all."""
        for question in approvals.pending(self.ada_script):
            if self.random.random() < 0.6:
                words = self.random.choice(("yes", "no"))
                operations.answer(question.number, self.tom, words, is_staff=True)
                pump()

    def wait(self) -> None:
        """Let time pass: a beat, a question's, or a minute."""
        self.advance(self.random.choice((1, 5, 30, 61)))
        self.fire_timer()

    def walk_off(self) -> None:
        there = self.mira.location == self.room1
        self.mira.location = self.room2 if there else self.room1

    def stop(self) -> None:
        operations.stop(self.ada_script, "test")
        pump()
        operations.clear(self.ada_script)
        pump()

    def step(self) -> None:
        acts = (
            *((self.ask_something, 5), (self.reply, 8), (self.decide, 2), (self.wait, 2)),
            *((self.walk_off, 1), (self.stop, 0.4), (self.restart, 0.5)),
        )
        names, weights = zip(*acts, strict=True)
        self.random.choices(names, weights)[0]()

    def finish(self) -> None:
        """Answer everything, with everybody present, until nothing waits."""
        self.mira.location = self.room1
        for _ in range(60):
            while self.model.waiting:
                words = self._asked_now()
                text = " ".join(f"word{number}x" for number in words) or "nothing"
                whom = self.asked[words[0]].key if words else "Tom"
                self.model_answers(whispers(text, whom))
            if not self.ada_script.work.inbox:
                self.clock.advance(301)  # a question from before a restart is gone by then
                pump()
                return
            self.fire_timer(20)
        raise AssertionError(f"something waits for ever: {self.waiting()}")

    def lines(self, person: Any) -> list[str]:
        """The lines of Ada that are an answer or a notice about one."""
        heard = person.heard_from(self.ada)
        return [line for line in heard if not any(part in line for part in ON_THE_WAY)]

    def answered(self) -> Counter[int]:
        """The number of answers to each word's own asker."""
        counts: Counter[int] = Counter()
        for person in (self.tom, self.mira):
            for line in person.heard_from(self.ada):
                if line.startswith(("Ada whispers", "Ada says")):
                    words = map(int, WORD.findall(line))
                    counts.update(number for number in words if self.asked[number] == person)
        return counts

    def steps_of(self, number: int) -> list[str]:
        records = [each for each in self.records() if f"word{number}x" in each.heard.body]
        return [f"{step} {detail}" for record in records for step, detail in record.steps]

    def problems(self) -> list[str]:
        """Words that were lost, answered twice, or answered to somebody else."""
        problems, answered = [], self.answered()
        for number, person in self.asked.items():
            steps = self.steps_of(number)
            if answered[number] > 1:
                problems.append(f"word{number}x was answered {answered[number]} times: {steps}")
            if not answered[number] and not self._has_word(person, steps):
                problems.append(f"word{number}x of {person.key} was lost: {steps}")
        for person in (self.tom, self.mira):
            words = [int(n) for line in self.lines(person) for n in WORD.findall(line)]
            private = [n for n in words if self.asked[n] != person and n not in self.aloud]
            problems += [f"{person.key} reads word{n}x" for n in private]
        return problems

    def _has_word(self, person: Any, steps: list[str]) -> bool:
        """True if the record has an end and the sender was told something but an answer."""
        ends = ("refused", "returned", "failed", "expired", "dropped", "not begun")
        is_ended = any(step.startswith(ends) for step in steps)
        return is_ended and bool([line for line in self.lines(person) if "word" not in line])

    def leftovers(self) -> list[str]:
        """State that must be gone when nothing waits."""
        work = self.ada_script.work
        left = {
            "turns set aside": work.aside,
            "a turn under way": work.seat or work.running,
            "a tray": self.stored("current_tool_call"),
            "questions": approvals.pending(self.ada_script),
            "calls": self.model.waiting,
        }
        return [f"{name}: {value}" for name, value in left.items() if value]

    def test_no_message_is_lost_without_a_word_and_none_is_answered_twice(self) -> None:
        limits = {"loop": {"max_model_calls_per_tick": 0}}
        self.set(execution_config={"max_iterations_per_tick": 2}, safety_config=limits)
        reached: Counter[str] = Counter()
        for seed in range(SEED, SEED + WALKS):
            with self.subTest(seed=seed):
                self.begin(seed)
                for _ in range(STEPS):
                    self.step()
                    reached["aside"] += bool(self.ada_script.work.aside)
                self.finish()
                assert ([], []) == (self.problems(), self.leftovers()), f"seed {seed}"
            reached["answers"] += sum(self.answered().values())
            texts = " ".join(str(each.steps) for each in self.records())
            reached.update(
                name for name in ("next minute", "refused", "returned", "goes on") if name in texts
            )
        wanted = {"aside", "answers", "next minute", "refused", "returned", "goes on"}
        assert WALKS < 12 or wanted == set(+reached), reached
