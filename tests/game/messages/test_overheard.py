"""Overheard words, captured output of commands, and what a restart keeps of them."""

from typing import Any

import pytest
from evennia.commands.cmdset import CmdSet
from evennia.commands.command import Command
from evennia.scripts.models import ScriptDB

from evennia_ai import operations
from evennia_ai.core.text.plain_data import to_stored
from evennia_ai.core.turn.compaction import summary_message
from evennia_ai.core.turn.conversation import UNKEPT, marked_as_summary_of
from evennia_ai.llm.scripted import completion
from evennia_ai.memory_store import rows
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from evennia_ai.tools.commanding import captured
from tests.game.listening import HearingTest
from tests.game.support import pump, says, whispers

HEAD = "Meanwhile"


class OverheardTest(HearingTest):
    """Ada takes note of what is said in the room."""

    hearing = {"context_messages": 4, "context_characters": 200}

    def setUp(self) -> None:
        super().setUp()
        self.set(room_messages="context")

    def told(self, number: int = -1) -> list[str]:
        lines = self.prompt(number).split("\n")
        return lines[1 : lines.index("")] if lines[0].startswith(HEAD) else []

    def whole(self, number: int = -1) -> str:
        return str(self.model.bodies[number]["messages"])


class TestContext(OverheardTest):
    def test_it_is_told_once_and_then_part_of_the_conversation(self) -> None:
        """Each is one quoted line with a trust; the next prompt does not repeat it."""
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
        self.type(self.mira, "say hello")
        self.ask("say @ada who is here?", says("Mira."))
        assert 'Tom says to you (trust 0.7): "who is here?"' == self.prompt().split("\n")[-1]

    def test_it_is_bounded_by_number(self) -> None:
        for number in range(10):
            self.type(self.mira, f"say {number}")
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert [str(number) for number in range(6, 10)] == [
            line.split('"')[1] for line in self.told()
        ]

    def test_it_is_bounded_by_size(self) -> None:
        for _ in range(4):
            self.type(self.mira, "say " + "x" * 150)
        assert 1 == len(self.ada_script.work.overheard)
        self.type(self.mira, "say " + "y" * 3000)
        assert 200 >= sum(len(item.body) for item in self.ada_script.work.overheard)

    def test_a_failure_does_not_lose_it(self) -> None:
        """The next turn tells it again."""
        self.type(self.mira, "say the ship is in")
        self.ask("whisper Ada = hello", b"{}")
        self.ask("whisper Ada = hello?", whispers("Hello."))
        assert 1 == len(self.told())

    def test_what_comes_while_she_thinks_is_the_next_turns(self) -> None:
        self.type(self.mira, "say one")
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.mira, "say two")
        self.model.answer(whispers("Hello."))
        self.ask("whisper Ada = and?", whispers("Hm."))
        assert ['"two"'] == [line.split(": ")[1].split(" (")[0] for line in self.told()]

    def test_the_same_words_again_are_not_lost(self) -> None:
        """Words repeated while she thinks are told again in the next turn."""
        self.type(self.mira, "say help")
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.mira, "say help")
        self.model.answer(whispers("Hello."))
        self.ask("whisper Ada = and?", whispers("Hm."))
        assert 1 == len(self.told())

    def test_what_is_ignored_is_told_to_nobody(self) -> None:
        self.set(room_messages="ignore")
        self.type(self.mira, "say the kestrel is out")
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert "kestrel" not in self.whole()

    def test_it_costs_no_statement(self) -> None:
        """Overheard words are kept in memory only."""
        self.type(self.mira, "say one")
        heard = ('Mira says, "two"', {"type": "say"})
        with self.assertNumQueries(0):
            self.ada.at_msg_receive(text=heard, from_obj=self.mira)
        assert 2 == len(self.ada_script.work.overheard)


class TestTakenUpAgain(OverheardTest):
    """Ada looks around first, and the server restarts before she answers."""

    def told_after_restart(self, *answers: bytes) -> None:
        self.type(self.mira, "say the mayor's vault is open")
        self.ask("whisper Ada = what is here?", completion(None, ("look", {})))
        self.model.answers.extend((*answers, whispers("A room.")))
        self.restart()
        assert [] == self.waiting()

    def test_it_is_told_as_before(self) -> None:
        self.told_after_restart()
        assert self.model.bodies[1]["messages"] == self.model.bodies[2]["messages"]
        assert 1 == self.whole().count("vault")

    def test_it_is_believed_no_more_than_before(self) -> None:
        call = ("store_memory", {"text": "The mayor's vault is open."})
        self.told_after_restart(completion(None, call))
        (fact,) = rows.of(self.ada_script.pk, kind="fact")
        assert 0.4 == fact.trust

    def test_what_is_not_to_be_kept_stays_marked(self) -> None:
        self.mira.tags.add("ai_no_memory")
        self.told_after_restart()
        history = self.ada_script.work.history
        assert history
        assert all(UNKEPT in message for message in history)


class TestBelieved(OverheardTest):
    def test_a_rumour_stays_one_in_a_later_turn(self) -> None:
        """What Mira said in the room is trusted as that, and what Tom says as his word."""
        self.type(self.mira, "say the vault of the mayor is open")
        self.ask("whisper Ada = hello", whispers("Hello."))
        facts = "The mayor's vault is open.", "Tom likes geese."
        calls = [completion(None, ("store_memory", {"text": text})) for text in facts]
        self.ask("whisper Ada = I like geese", *calls, whispers("Noted."))
        trusts = dict(rows.of(self.ada_script.pk, kind="fact").values_list("text", "trust"))
        assert dict(zip(facts, (0.4, 0.9), strict=True)) == trusts


class TestNotRemembered(OverheardTest):
    """Mira, whom Ada hears in the room, is not to be remembered."""

    def setUp(self) -> None:
        super().setUp()
        state.write(self.ada_script, unremembered=[self.person(self.mira)])

    def test_the_model_stores_nothing_of_her_words(self) -> None:
        """Whether it names her or not; what Tom says beside them may be stored."""
        self.type(self.mira, "say the vault of the mayor is open")
        theirs = "Mira is up to something.", "The mayor's vault is open."
        calls = [("add_journal_entry", {"text": text}) for text in theirs]
        calls += [("write_note", {"text": text}) for text in theirs]
        calls += [("store_memory", {"text": "Tom likes geese."})]
        answers = [completion(None, call) for call in calls]
        state.write(self.ada_script, execution_config={"max_iterations_per_tick": 10})
        self.ask("whisper Ada = I like geese", *answers, whispers("Fine."))
        assert [] == state.read(self.ada_script, "notes")
        texts = {row.text for row in rows.of(self.ada_script.pk)}
        assert "Tom likes geese." in texts
        assert not any("vault" in text or "Mira" in text for text in texts)

    def later_facts(self, line: str) -> set[str]:
        rows.of(self.ada_script.pk).delete()
        facts = "The mayor's vault is open.", "Tom likes geese."
        calls = [completion(None, ("store_memory", {"text": text})) for text in facts]
        self.ask(line, *calls, whispers("Noted."))
        return {row.text for row in rows.of(self.ada_script.pk, kind="fact")}

    def test_nor_in_a_later_turn(self) -> None:
        """Her words are in the conversation: those overheard, those to Ada, and their summary."""
        self.type(self.mira, "say the vault of the mayor is open")
        self.ask("whisper Ada = I like geese", whispers("So do I."))
        assert {"Tom likes geese."} == self.later_facts("whisper Ada = note that")
        self.ask("say @ada the vault is the mayor's", says("So it is."), person=self.mira)
        assert {"Tom likes geese."} == self.later_facts("whisper Ada = note that")
        work = self.ada_script.work
        summary = summary_message("Two talked of geese. The vault of the mayor is open.")
        work.history = [marked_as_summary_of(summary, work.history)]
        assert {"Tom likes geese."} == self.later_facts("whisper Ada = I like geese, note that")


class TestPrivate(OverheardTest):
    def test_a_whisper_is_not_told_to_anybody_else(self) -> None:
        """Neither the question nor the answer; Tom himself gets it back."""
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
        text = ("TestAccount pages: my word is kestrel", {"type": "page", "speech": "kestrel"})
        self.model.answers.append(completion(None, ("noop", {})))
        self.ada.msg(text, from_obj=self.account)
        pump()
        self.ask("whisper Ada = hm?", completion(None, ("noop", {})), person=self.mira)
        assert "kestrel" not in self.whole()

    def test_nor_after_a_restart(self) -> None:
        self.ask("whisper Ada = my word is kestrel", whispers("Kestrel it is."))
        self.restart()
        self.ask("whisper Ada = what did Tom say?", whispers("Hm.", "Mira"), person=self.mira)
        assert "kestrel" not in self.whole().casefold()

    def test_what_an_assistant_whispered_is_kept_for_it_alone(self) -> None:
        """That holds for the last whisper before the hop limit, too."""
        _, brass = self.make("Brass")
        outgoing.whisper(brass, self.ada, "the code is kestrel", hops=3)
        assert "4 hop_limit context" == self.judged()
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert "kestrel" not in self.whole()


class CmdTalkative(Command):
    """A command with much output."""

    key = "talk"

    def func(self) -> None:
        for number in range(300):
            self.msg(f"line |r{number}|n")


class TestCapture(HearingTest):
    """The output of a command that a tool runs."""

    def captured(self, *lines: str) -> list[str]:
        with captured(self.ada_script) as output:
            for line in lines:
                self.ada.execute_cmd(line)
        return output

    def test_each_command_in_turn(self) -> None:
        """The output is plain text, and falls under rule 1."""
        first, second = self.captured("inventory", "nonsense")
        assert "You are not carrying anything." == first
        assert second.startswith("Command 'nonsense' is not available")
        assert ["1 command_output"] * 2 == [
            f"{r.verdict.rule} {r.verdict.name}" for r in self.records()
        ]

    def test_what_others_say_meanwhile_is_not_output(self) -> None:
        with captured(self.ada_script) as output:
            self.tom.execute_cmd("say @ada hello")
            self.ada.execute_cmd("look")
            self.tom.execute_cmd("say what a day")
        assert 1 == len(output)
        assert output[0].startswith("Room")
        assert ["hello"] == [event.body.removeprefix("@ada ") for event in self.waiting()]

    def test_it_is_bounded(self) -> None:
        self.ada.cmdset.add(self._talkative())
        assert 200 == len(self.captured("talk"))

    def _talkative(self) -> CmdSet:
        cmdset = CmdSet()
        cmdset.add(CmdTalkative())
        return cmdset

    def test_it_ends(self) -> None:
        """It ends after an error, too."""
        self.captured("look")
        with pytest.raises(RuntimeError, match="stuck"), captured(self.ada_script):
            raise RuntimeError("stuck")
        self.ada.execute_cmd("look")
        assert "1 self_message context" == self.judged()

    def test_nothing_of_it_is_told_as_overheard(self) -> None:
        """The tool returns it already."""
        self.captured("look")
        assert [] == self.ada_script.work.overheard

    def test_one_within_another_takes_nothing_from_it(self) -> None:
        with captured(self.ada_script) as outer:
            self.ada.execute_cmd("look")
            assert 1 == len(self.captured("inventory"))
            self.ada.execute_cmd("nonsense")
        assert 2 <= len(outer)
        assert outer[-1].startswith("Command 'nonsense'")

    def test_it_is_plain_and_long_lines_are_cut(self) -> None:
        self.room1.db.desc = "|rred|n " * 1000
        (line,) = self.captured("look")
        assert "|r" not in line
        assert 2000 >= len(line)


class TestLasting(OverheardTest):
    def setUp(self) -> None:
        super().setUp()
        self.ask("whisper Ada = hello", whispers("Hello."))
        operations.set_muted(self.ada_script, self.mira, True)
        self.type(self.tom, "say what a day")

    def kept(self) -> tuple[Any, ...]:
        work = self.ada_script.work
        return (
            work.senders.as_stored(),
            [to_stored(item) for item in work.overheard],
            work.decisions.as_stored(),
            set(work.muted),
        )

    def test_a_shutdown_and_a_reload_keep_it(self) -> None:
        before = self.kept()
        for end in (self.ada_script.at_server_shutdown, self.ada_script.pause):
            end()
            self.ada_script.work = None
            self.ada_script.at_start()
            assert before == self.kept()

    def test_it_is_stored_as_plain_data(self) -> None:
        """Another version or program must be able to read it."""
        self.ada_script.at_server_shutdown()
        stored = ScriptDB.objects.get(pk=self.ada_script.pk).db_attributes
        for name in ("company", "overheard", "records"):
            value = stored.get(db_key=name).db_value
            assert value
            assert "evennia_ai" not in repr(value)

    def test_what_another_version_stored_beside_it_keeps_nobody_from_starting(self) -> None:
        self.ada_script.at_server_shutdown()
        stored = state.read(self.ada_script, "overheard")
        state.write(self.ada_script, overheard=[{**item, "mood": "dull"} for item in stored])
        self.ada_script.work = None
        self.ada_script.at_start()
        assert ["what a day"] == [item.body for item in self.ada_script.work.overheard]

    def test_a_kill_loses_only_what_was_not_worth_a_write(self) -> None:
        """Mutes, the inbox and the conversation are stored at once."""
        self.type(self.tom, "whisper Ada = still there?")
        self.ada_script.work = None
        self.ada_script.at_start()
        work = self.ada_script.work
        assert {self.person(self.mira)} == work.muted
        assert ["still there?"] == [item["body"] for item in work.inbox]
        assert 3 == len(work.history)

    def test_with_nothing_to_store_nothing_is_written(self) -> None:
        self.restart()
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        self.ada_script.work.is_closing = False
        with self.assertNumQueries(0):
            state.flush(self.ada_script)

    def test_numbers_go_on_after_a_restart(self) -> None:
        """`assistant why 12` names one message for ever."""
        last = self.records()[0].number
        self.restart()
        self.type(self.tom, "say hello")
        assert last + 1 == self.records()[0].number
