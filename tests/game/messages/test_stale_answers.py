"""Answers whose moment is over: dropped or told differently, as the owner wants it."""

import re
from typing import Any
from unittest import mock

import evennia

from evennia_ai import audit
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import says
from tests.online import lines_shown

ANSWER = 'Ada says, "Upstairs."'
PAGES = re.compile(r"Ada pages: [^\n]*")
OPEN_ENDED = {"tick_event": {"terminal_ends_loop": False}}
WITHOUT_PAGE = {"tick_event": {"tool_filter": ["say", "noop"]}}


class StaleTest(HearingTest):
    """Tom asks aloud; while the model thinks, something happens.

    Attributes:
        told: recorded facts of stale answers.
    """

    def setUp(self) -> None:
        super().setUp()
        self.mira.account = self.account2
        self.told: list[dict[str, Any]] = []
        audit.LISTENERS.append(self._note)
        self.addCleanup(audit.LISTENERS.remove, self._note)

    def _note(self, event: str, _: str, facts: dict[str, Any]) -> None:
        if event == "stale_answer":
            self.told.append(facts)

    def answer(self, reply: bytes | None = None) -> None:
        self.model_answers(reply or says("Upstairs."))

    def beats(self) -> None:
        for _ in range(3):
            self.fire_timer(5)

    def why(self) -> str:
        return str(self.records()[0].steps)

    def heard(self) -> tuple[bool, bool, bool]:
        """Flags for said aloud, paged to Tom, and whispered to Tom."""
        toms = "\n".join((*self.tom.seen, *lines_shown()))
        return (
            ANSWER in "\n".join(self.mira.seen),
            "Ada pages: Upstairs." in toms,
            'Ada whispers: "Upstairs."' in toms,
        )


class TestAskerGone(StaleTest):
    """Tom has left the room; Mira, or nobody, is there to hear the answer."""

    def leave(self, way: str = "", *, is_alone: bool = False) -> None:
        """Let Tom ask and go, and the answer come then."""
        if way:
            self.set(stale_answers={"asker_gone": way})
        if is_alone:
            self.mira.location = self.room2
        self.type(self.tom, "say @ada where are the maps?")
        self.tom.location = self.room2
        self.answer()

    def test_by_default_it_is_said_to_those_who_are_there(self) -> None:
        self.leave()
        assert ((True, False, False), []) == (self.heard(), self.told)

    def test_it_may_be_paged(self) -> None:
        """`why`, the record and the model's history say so."""
        self.leave("page")
        assert (False, True, False) == self.heard()
        assert ["asker_gone"] == [facts["why"] for facts in self.told]
        assert "Tom had left: it goes by page" in self.why()
        history = str(state.read(self.ada_script, "conversation_history"))
        assert "its moment was over, so it went by page" in history

    def test_alone_it_is_paged_too(self) -> None:
        self.leave("page", is_alone=True)
        assert (False, True, False) == self.heard()

    def test_a_page_to_nobody_online_waits(self) -> None:
        """Tom is offline, and is told in the room when he is back."""
        self.set(stale_answers={"asker_gone": "page"})
        self.type(self.tom, "say @ada where are the maps?")
        self.account.unpuppet_object(self.session)
        self.session.logged_in = False
        self.addCleanup(setattr, self.session, "logged_in", True)
        self.answer()
        assert (False, False, False) == self.heard()
        assert 1 == len(self.waiting())

    def test_it_may_wait(self) -> None:
        self.leave("wait")
        assert ((False, False, False), 1) == (self.heard(), len(self.waiting()))
        assert "it waits for them to come back" in self.why()
        self.tom.location = self.room1
        self.model.answers.append(says("Upstairs."))
        self.fire_timer(1)
        assert ((True, False, False), []) == (self.heard(), self.waiting())

    def test_it_may_be_dropped(self) -> None:
        for is_alone in (False, True):
            with self.subTest(alone=is_alone):
                self.tom.location = self.mira.location = self.room1
                self.leave("drop", is_alone=is_alone)
                assert ((False, False, False), []) == (self.heard(), self.waiting())
                assert "it was dropped" in self.why()
                self.tom.location = self.room1
                self.fire_timer(60)
                assert [] == self.model.waiting
                assert ANSWER not in str(state.read(self.ada_script, "conversation_history"))

    def test_whispers_are_as_ever(self) -> None:
        """They wait for whoever whispered, whatever is set."""
        self.set(stale_answers={"asker_gone": "drop"})
        self.type(self.tom, "whisper Ada = where are the maps?")
        self.tom.location = self.room2
        self.answer()
        assert (1, []) == (len(self.waiting()), self.told)

    def test_what_is_begun_goes_on(self) -> None:
        """The second of two lines is said too, though he went after the first."""
        self.set(stale_answers={"asker_gone": "drop"}, context_configs=OPEN_ENDED)
        self.type(self.tom, "say @ada where are the maps?")
        self.answer(says("Well."))
        self.tom.location = self.room2
        self.answer()
        assert (True, False, False) == self.heard()

    def test_a_page_that_cannot_be_waits(self) -> None:
        """He is told when he is back, and no further call is made meanwhile."""
        rows = {
            "not on offer": lambda: self.set(context_configs=WITHOUT_PAGE),
            "locked": lambda: self.ada.locks.add("tool_page:false()"),
            "refused": lambda: self.account.locks.add("msg:false()"),
        }
        for name, forbid in rows.items():
            for is_alone in (False, True):
                with self.subTest(name, alone=is_alone):
                    self.tom.location = self.mira.location = self.room1
                    self.clock.advance(60)
                    self.forget()
                    forbid()
                    self.leave("page", is_alone=is_alone)
                    asked = len(self.model.bodies)
                    self.beats()
                    assert (False, False, False) == self.heard()
                    assert (1, asked) == (len(self.waiting()), len(self.model.bodies))
                    self.tom.location = self.room1
                    self.model.answers.append(says("Upstairs."))
                    self.beats()
                    assert [] == self.waiting()
                    assert ['Ada says, "Upstairs."'] == self.tom.heard_from(self.ada)
            self.set(context_configs={})
            self.ada.locks.remove("tool_page")
            self.account.locks.add("msg:all()")

    def test_the_account_is_paged_whatever_it_plays(self) -> None:
        """Tom's player goes on without a character; no other account called Tom is paged."""
        self.set(stale_answers={"asker_gone": "page"})
        self.type(self.tom, "say @ada where are the maps?")
        self.account.unpuppet_object(self.session)
        self.account2.key = "Tom"
        with mock.patch.object(type(self.account), "msg", autospec=True) as msg:
            self.answer()
        assert [self.account] == [call.args[0] for call in msg.call_args_list]
        assert (False, []) == (self.heard()[0], self.waiting())


class TestRoomChanged(StaleTest):
    """Ada was taken elsewhere while the model was thinking."""

    def test_it_is_not_said_to_strangers(self) -> None:
        """By default Tom, who stayed, is paged; Mira, in the new room, hears nothing."""
        self.mira.location = self.room2
        self.type(self.tom, "say @ada where are the maps?")
        self.ada.location = self.room2
        self.answer()
        assert (False, True, False) == self.heard()
        assert ["room_changed"] == [facts["why"] for facts in self.told]
        assert "it was asked in another room" in self.why()

    def test_nor_is_the_rest_of_it(self) -> None:
        """The other lines of the reply go the same way; a pose cannot be paged."""
        self.mira.location = self.room2
        self.type(self.tom, "say @ada where are the maps?")
        self.ada.location = self.room2
        rest = ("say", {"message": "By the window."}), ("emote", {"action": "points up"})
        self.answer(completion(None, ("say", {"message": "Upstairs."}), *rest))
        assert [] == self.mira.heard_from(self.ada)
        toms = "\n".join(lines_shown())
        assert ["Ada pages: Upstairs.", "Ada pages: By the window."] == PAGES.findall(toms)
        assert ["page", "page", "drop"] == [facts["way"] for facts in self.told]

    def test_nor_the_rest_after_a_restart(self) -> None:
        """The way is stored with the turn, and holds though he is there again meanwhile."""
        self.mira.location = self.room2
        self.set(context_configs=OPEN_ENDED)
        self.type(self.tom, "say @ada where are the maps?")
        self.ada.location = self.room2
        self.answer()
        self.restart()
        self.tom.location = self.room2
        self.fire_timer()
        self.answer(says("By the window."))
        assert [] == self.mira.heard_from(self.ada)
        assert "Ada pages: By the window." in "\n".join(lines_shown())

    def test_nor_what_could_not_be_paged(self) -> None:
        """He is told the rest, whose page was refused, when he is there."""
        self.mira.location = self.room2
        self.set(context_configs=OPEN_ENDED)
        self.type(self.tom, "say @ada where are the maps?")
        self.ada.location = self.room2
        self.answer()
        self.account.locks.add("msg:false()")
        self.answer(says("By the window."))
        self.beats()
        assert ([], 1, []) == (
            self.mira.heard_from(self.ada),
            len(self.waiting()),
            self.model.waiting,
        )
        self.tom.location = self.room2
        self.beats()
        self.answer(says("By the window."))
        assert 'Ada says, "By the window."' in self.tom.heard_from(self.ada)

    def test_together_they_talk_on(self) -> None:
        """Tom came along, so nothing is stale."""
        self.type(self.tom, "say @ada where are the maps?")
        for being in (self.tom, self.mira, self.ada):
            being.location = self.room2
        self.answer()
        assert ((True, False, False), []) == (self.heard(), self.told)


class TestTopicClosed(StaleTest):
    """Mira answers Tom before Ada does."""

    def close(self, line: str = "say Tom, upstairs, by the window.", **ways: str) -> None:
        """Let Tom ask, Mira speak, and the answer come."""
        self.set(stale_answers=ways)
        self.type(self.tom, "say @ada where are the maps?")
        self.type(self.mira, line)
        self.answer()

    def test_each_way(self) -> None:
        rows = {
            "": (True, False, False),
            "say": (True, False, False),
            "whisper": (False, False, True),
            "drop": (False, False, False),
        }
        for way, heard in rows.items():
            with self.subTest(way or "default"):
                self.forget()
                evennia.SESSION_HANDLER.data_out.reset_mock()
                self.close(**({"topic_closed": way} if way else {}))
                assert heard == self.heard()
                assert [] == self.waiting()
        assert ["whisper", "drop"] == [facts["way"] for facts in self.told]

    def test_without_whispers_it_is_said(self) -> None:
        """Tom is here, so to wait for him would be to ask the model for ever."""
        self.set(context_configs=WITHOUT_PAGE)
        self.close(topic_closed="whisper")
        assert ((True, False, False), []) == (self.heard(), self.waiting())

    def test_the_rest_is_whispered_too(self) -> None:
        self.set(stale_answers={"topic_closed": "whisper"})
        self.type(self.tom, "say @ada where are the maps?")
        self.type(self.mira, "say Tom, upstairs, by the window.")
        rest = completion(
            None, ("say", {"message": "Upstairs."}), ("say", {"message": "In a box."})
        )
        self.answer(rest)
        assert [] == self.mira.heard_from(self.ada)
        assert 'Ada whispers: "In a box."' in "\n".join(self.tom.seen)

    def test_talk_beside_it_closes_nothing(self) -> None:
        for line in ("say what a storm!", "say I saw Tom yesterday."):
            with self.subTest(line):
                self.forget()
                self.close(line, topic_closed="drop")
                assert (True, False, False) == self.heard()

    def test_a_way_that_is_none(self) -> None:
        self.set(stale_answers={"topic_closed": "shout"})
        self.type(self.tom, "say @ada where are the maps?")
        self.answer(completion("Upstairs."))
        assert (True, False, False) == self.heard()
