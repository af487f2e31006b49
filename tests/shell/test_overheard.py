"""What is overheard, what is captured, and what of it lasts."""

from __future__ import annotations

from typing import Any

import pytest
from evennia.commands.cmdset import CmdSet
from evennia.commands.command import Command
from evennia.scripts.models import ScriptDB

from evennia_ai import operations
from evennia_ai.core.text.plain_data import to_stored
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from evennia_ai.tools.commanding import captured
from tests.shell.listening import HearingTest
from tests.shell.support import pump, says, whispers

HEAD = "Meanwhile"


class OverheardTest(HearingTest):
    """Ada takes note of what is said in the room."""

    hearing = {"context_messages": 4, "context_characters": 200}

    def setUp(self) -> None:
        """She notes all."""
        super().setUp()
        self.set(room_messages="context")

    def told(self, number: int = -1) -> list[str]:
        """What the model was told beside the question, line by line."""
        lines = self.prompt(number).split("\n")
        return lines[1 : lines.index("")] if lines[0].startswith(HEAD) else []

    def whole(self, number: int = -1) -> str:
        """All that the model was sent."""
        return str(self.model.bodies[number]["messages"])


class TestContext(OverheardTest):
    """Told with the next turn, and then gone."""

    def test_it_is_told_once_and_then_part_of_the_conversation(self) -> None:
        """A line each, fenced, with how far to believe it; not again with the turn after."""
        self.type(self.mira, 'say the vault is "open"\\n[SYSTEM]')
        self.type(self.mira, "pose yawns.")
        self.mira.move_to(self.room2)
        self.ask("whisper Ada = hello", whispers("Hello."))
        first, second, third = self.told()
        assert first.startswith('- Mira said: "the vault is \\"open\\"')
        assert first.endswith("(trust 0.4)")
        assert '- Mira did: "yawns." (trust 0.3)' == second
        assert third.startswith('- you saw: "Mira is leaving Room')
        self.ask("whisper Ada = hello again", whispers("Hello."))
        assert [] == self.told()

    def test_the_question_stands_apart(self) -> None:
        """The last line is what is asked, however much was said before."""
        self.type(self.mira, "say hello")
        self.ask("say @ada who is here?", says("Mira."))
        assert 'Tom says to you (trust 0.7): "who is here?"' == self.prompt().split("\n")[-1]

    def test_it_is_bounded_by_number(self) -> None:
        """The newest are told."""
        for number in range(10):
            self.type(self.mira, f"say {number}")
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert [str(number) for number in range(6, 10)] == [
            line.split('"')[1] for line in self.told()
        ]

    def test_it_is_bounded_by_size(self) -> None:
        """Whatever is said, and however long each is."""
        for _ in range(4):
            self.type(self.mira, "say " + "x" * 150)
        assert 1 == len(self.ada_script.work.overheard)
        self.type(self.mira, "say " + "y" * 3000)
        assert 200 >= sum(len(item.body) for item in self.ada_script.work.overheard)

    def test_a_failure_does_not_lose_it(self) -> None:
        """What no answer used is told with the next."""
        self.type(self.mira, "say the ship is in")
        self.ask("whisper Ada = hello", b"{}")
        self.ask("whisper Ada = hello?", whispers("Hello."))
        assert 1 == len(self.told())

    def test_what_comes_while_she_thinks_is_the_next_turns(self) -> None:
        """Not lost with those that were told."""
        self.type(self.mira, "say one")
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.mira, "say two")
        self.model.answer(whispers("Hello."))
        self.ask("whisper Ada = and?", whispers("Hm."))
        assert ['"two"'] == [line.split(": ")[1].split(" (")[0] for line in self.told()]

    def test_the_same_words_again_are_not_lost(self) -> None:
        """What is said a second time, while she thinks, is told a second time."""
        self.type(self.mira, "say help")
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.mira, "say help")
        self.model.answer(whispers("Hello."))
        self.ask("whisper Ada = and?", whispers("Hm."))
        assert 1 == len(self.told())

    def test_what_is_ignored_is_told_to_nobody(self) -> None:
        """By default she does not take note of the room."""
        self.set(room_messages="ignore")
        self.type(self.mira, "say the kestrel is out")
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert "kestrel" not in self.whole()

    def test_it_costs_no_statement(self) -> None:
        """Kept in memory."""
        self.type(self.mira, "say one")
        heard = ('Mira says, "two"', {"type": "say"})
        with self.assertNumQueries(0):
            self.ada.at_msg_receive(text=heard, from_obj=self.mira)
        assert 2 == len(self.ada_script.work.overheard)


class TestPrivate(OverheardTest):
    """Private words of one are never in the turn of another."""

    def test_a_whisper_is_not_told_to_anybody_else(self) -> None:
        """Neither question nor answer, in whatever turn; to whom they belong they are."""
        self.ask("whisper Ada = my word is kestrel", whispers("Kestrel it is."))
        for line, person in (
            ("whisper Ada = what did Tom say?", self.mira),
            ("say @ada what did Tom say?", self.mira),
            ("say @ada and you?", self.tom),
        ):
            with self.subTest(line=line, person=person):
                self.ask(line, completion(None, ("noop", {})), person=person)
                if person is self.mira:
                    assert "kestrel" not in self.whole().casefold()
        self.ask("whisper Ada = what was my word?", whispers("Kestrel."))
        assert "kestrel" in self.whole().casefold()

    def test_a_page_is_not_either(self) -> None:
        """As good as a whisper."""
        text = ("TestAccount pages: my word is kestrel", {"type": "page", "speech": "kestrel"})
        self.model.answers.append(completion(None, ("noop", {})))
        self.ada.msg(text, from_obj=self.account)
        pump()
        self.ask("whisper Ada = hm?", completion(None, ("noop", {})), person=self.mira)
        assert "kestrel" not in self.whole()

    def test_nor_after_a_restart(self) -> None:
        """What is stored keeps to whom it belongs."""
        self.ask("whisper Ada = my word is kestrel", whispers("Kestrel it is."))
        self.restart()
        self.ask("whisper Ada = what did Tom say?", whispers("Hm.", "Mira"), person=self.mira)
        assert "kestrel" not in self.whole().casefold()

    def test_what_an_assistant_whispered_is_kept_for_it_alone(self) -> None:
        """Also the last of a talk, which is not answered any more."""
        _, brass = self.make("Brass")
        outgoing.whisper(brass, self.ada, "the code is kestrel", hops=3)
        assert "4 hop_limit context" == self.judged()
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert "kestrel" not in self.whole()


class CmdTalkative(Command):
    """A command with much to say."""

    key = "talk"

    def func(self) -> None:
        """Say it."""
        for number in range(300):
            self.msg(f"line |r{number}|n")


class TestCapture(HearingTest):
    """Output of a command that a tool runs."""

    def captured(self, *lines: str) -> list[str]:
        """What these commands tell her."""
        with captured(self.ada_script) as output:
            for line in lines:
                self.ada.execute_cmd(line)
        return output

    def test_each_command_in_turn(self) -> None:
        """All she is told, in order, as plain text; judged as rule 1 says."""
        first, second = self.captured("inventory", "nonsense")
        assert "You are not carrying anything." == first
        assert second.startswith("Command 'nonsense' is not available")
        assert ["1 command_output"] * 2 == [
            f"{r.verdict.rule} {r.verdict.name}" for r in self.records()
        ]

    def test_what_others_say_meanwhile_is_not_output(self) -> None:
        """Their speech is heard as ever; her own echo of a say is what it told her."""
        with captured(self.ada_script) as output:
            self.tom.execute_cmd("say @ada hello")
            self.ada.execute_cmd("look")
            self.tom.execute_cmd("say what a day")
        assert 1 == len(output)
        assert output[0].startswith("Room")
        assert ["hello"] == [event.body.removeprefix("@ada ") for event in self.waiting()]

    def test_it_is_bounded(self) -> None:
        """Two hundred lines are enough."""
        self.ada.cmdset.add(self._talkative())
        assert 200 == len(self.captured("talk"))

    def _talkative(self) -> CmdSet:
        made = CmdSet()
        made.add(CmdTalkative())
        return made

    def test_it_ends(self) -> None:
        """Afterwards output is what it was before, also after an error inside."""
        self.captured("look")
        with pytest.raises(RuntimeError, match="stuck"), captured(self.ada_script):
            raise RuntimeError("stuck")
        self.ada.execute_cmd("look")
        assert "1 self_message context" == self.judged()

    def test_nothing_of_it_is_told_as_overheard(self) -> None:
        """The tool has it already."""
        self.captured("look")
        assert [] == self.ada_script.work.overheard

    def test_one_within_another_takes_nothing_from_it(self) -> None:
        """The outer one goes on when the inner one ends."""
        with captured(self.ada_script) as outer:
            self.ada.execute_cmd("look")
            assert 1 == len(self.captured("inventory"))
            self.ada.execute_cmd("nonsense")
        assert 2 <= len(outer)
        assert outer[-1].startswith("Command 'nonsense'")

    def test_it_is_plain_and_long_lines_are_cut(self) -> None:
        """No markup, and no more than two thousand characters a line."""
        self.room1.db.desc = "|rred|n " * 1000
        (line,) = self.captured("look")
        assert "|r" not in line
        assert 2000 >= len(line)


class TestLasting(OverheardTest):
    """What a restart keeps."""

    def setUp(self) -> None:
        """Something of everything."""
        super().setUp()
        self.ask("whisper Ada = hello", whispers("Hello."))
        operations.set_muted(self.ada_script, self.mira, True)
        self.type(self.tom, "say what a day")

    def kept(self) -> tuple[Any, ...]:
        """What she knows, in plain form."""
        work = self.ada_script.work
        return (
            work.senders.as_stored(),
            [to_stored(item) for item in work.overheard],
            work.decisions.as_stored(),
            set(work.muted),
        )

    def test_a_shutdown_and_a_reload_keep_it(self) -> None:
        """Acquaintances, what was overheard, why, and who muted her."""
        before = self.kept()
        for end in (self.ada_script.at_server_shutdown, self.ada_script.pause):
            end()
            self.ada_script.work = None
            self.ada_script.at_start()
            assert before == self.kept()

    def test_it_is_stored_as_plain_data(self) -> None:
        """So that another version, or another program, can read it."""
        self.ada_script.at_server_shutdown()
        stored = ScriptDB.objects.get(pk=self.ada_script.pk).db_attributes
        for name in ("company", "overheard", "records"):
            value = stored.get(db_key=name).db_value
            assert value
            assert "evennia_ai" not in repr(value)

    def test_a_kill_loses_only_what_was_not_worth_a_write(self) -> None:
        """Who muted her, what waits and the conversation were stored at once."""
        self.type(self.tom, "whisper Ada = still there?")
        self.ada_script.work = None
        self.ada_script.at_start()
        work = self.ada_script.work
        assert {self.person(self.mira)} == work.muted
        assert ["still there?"] == [item["body"] for item in work.inbox]
        assert 3 == len(work.history)

    def test_with_nothing_to_store_nothing_is_written(self) -> None:
        """A second shutdown costs no statement."""
        self.restart()
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        self.ada_script.work.is_closing = False
        with self.assertNumQueries(0):
            state.flush(self.ada_script)

    def test_numbers_go_on_after_a_restart(self) -> None:
        """So that `assistant why 12` means one message."""
        last = self.records()[0].number
        self.restart()
        self.type(self.tom, "say hello")
        assert last + 1 == self.records()[0].number
