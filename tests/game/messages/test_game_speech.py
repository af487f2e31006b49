"""The adapter `hear`, for games whose own commands send bare text."""

import itertools
from typing import Any

import pytest
from django.test.utils import override_settings
from evennia.contrib.rpg.llm.llm_npc import CmdLLMTalk

import evennia_ai
from evennia_ai import operations
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import incoming
from evennia_ai.models import TracedMessage
from evennia_ai.runtime import state
from tests.game.messages import own_speech
from tests.game.support import GameTest, says, whispers


class TestGameSpeech(GameTest):
    """Tom and Mira speak by commands of the game's own."""

    def newest(self) -> Any:
        return self.ada_script.work.decisions.newest()[0]

    def outcomes(self) -> list[tuple[str, str]]:
        """Source and rule of all that Ada heard, oldest first."""
        newest = self.ada_script.work.decisions.newest()
        return [(str(each.heard.source), each.verdict.name) for each in reversed(newest)]

    def test_without_the_adapter_it_is_deaf(self) -> None:
        for kind in (own_speech.CmdBareSay, own_speech.CmdSaySent):
            own_speech.use(self.mira, kind)
            self.type(self.mira, "say Ada, hello")
            assert [] == self.waiting()
            assert self.newest().verdict.outcome.value != "trigger"

    def test_evennias_own_talk_is_answered(self) -> None:
        """The command of the contrib `llm` calls a hook of whom it names."""
        own_speech.use(self.mira, CmdLLMTalk)
        self.ask("talk ada where is the lamp?", says("Upstairs."), person=self.mira)
        assert ['Ada says, "Upstairs."'] == self.mira.heard_from(self.ada)
        assert ["where is the lamp?"] == [each.words for each in TracedMessage.objects.all()]
        self.ada_script.obj = None
        assert self.ada.at_talked_to("hello", self.mira) is None

    def test_with_it_mira_is_answered(self) -> None:
        own_speech.use(self.mira, own_speech.CmdSayAdapted)
        self.ask("say Ada, hello", says("Hello, Mira."), person=self.mira)
        assert ['Ada says, "Hello, Mira."'] == self.mira.heard_from(self.ada)
        heard = self.newest()
        assert ("say", "direct_address", 0.7) == (
            heard.heard.source,
            heard.verdict.name,
            heard.verdict.trust,
        )
        assert "Ada, hello" == heard.heard.body
        message = operations.why(self.ada_script).message
        assert "known by  what the code of the game told it" in message

    def test_a_whisper_is_private(self) -> None:
        own_speech.use(self.mira, own_speech.CmdBareWhisper)
        self.ask("whisper Ada the cellar", whispers("Hush.", "Mira"), person=self.mira)
        assert ['Ada whispers: "Hush."'] == self.mira.heard_from(self.ada)
        assert self.newest().heard.source in ("whisper",)
        (message,) = [m for m in self.ada_script.work.history if "cellar" in str(m)]
        assert incoming.person_of(self.mira) in str(message)
        shown = operations.why(self.ada_script).message
        assert "cellar" not in shown

    def test_it_is_heard_once(self) -> None:
        """The game's own line for the same words is ignored, whichever comes first."""
        marked = {"type": "say"}
        line, words = 'Mira says, "Ada, hello"', "Ada, hello"
        ways = (
            lambda: self.ada.msg(line),
            lambda: self.ada.msg(line, from_obj=self.mira),
            lambda: self.ada.msg((line, marked), from_obj=self.mira),
        )
        for way in ways:
            for is_first in (True, False):
                with self.subTest(way=ways.index(way), is_first=is_first):
                    self.clock.advance(5)
                    state.write(self.ada_script, enabled=True)
                    self.ada_script.work.overheard = []
                    before = self.ada_script.work.decisions.count
                    if is_first:
                        way()
                    evennia_ai.hear(self.room1, words, self.mira)
                    if not is_first:
                        way()
                    judged = self.ada_script.work.decisions.newest()
                    new = [each for each in judged if each.number > before]
                    assert 1 == len([r for r in new if r.verdict.name == "direct_address"])
                    assert [] == self.ada_script.work.overheard

    def test_a_long_whisper_is_heard_once_and_stays_private(self) -> None:
        """Also where the game's own line, or the trace of it, is longer than what is kept of it."""
        marked = {"type": "whisper"}
        for length in (500, 1_990, 3_000):
            words = f"the cellar {'is damp and cold ' * 200}"[:length]
            line = f'Mira whispers, "{words}"'
            ways = (
                lambda line=line: self.ada.msg(line),
                lambda line=line: self.ada.msg((line, marked), from_obj=self.mira),
            )
            for way, is_first in itertools.product(ways, (True, False)):
                with self.subTest(length=length, way=ways.index(way), is_first=is_first):
                    self.clock.advance(5)
                    before = self.ada_script.work.decisions.count
                    if is_first:
                        way()
                    evennia_ai.hear(self.ada, words, self.mira, "whisper")
                    if not is_first:
                        way()
                    judged = self.ada_script.work.decisions.newest()
                    new = [each.heard.source for each in judged if each.number > before]
                    assert ["whisper"] == new
                    assert [] == self.ada_script.work.overheard

    def test_said_again_it_is_heard_again(self) -> None:
        """Equal words of another person or a second call are not taken for a duplicate."""
        for person in (self.mira, self.mira, self.tom):
            evennia_ai.hear(self.room1, "Ada, hello", person)
        assert 3 == len(self.outcomes())
        self.ada.msg(('Tom says, "Ada, hello"', {"type": "say"}), from_obj=self.tom)
        assert 3 == len(self.outcomes())
        self.clock.advance(2)
        self.ada.msg(('Tom says, "Ada, hello"', {"type": "say"}), from_obj=self.tom)
        assert 4 == len(self.outcomes())

    def test_another_line_of_the_game_is_heard_beside_it(self) -> None:
        """Only a line with the same speaker and all of the words is a duplicate."""
        evennia_ai.hear(self.room1, "Ada, hello", self.mira)
        self.ada.msg("The lamp goes out.")
        self.ada.msg('Tom says, "Ada, hello"')
        assert 3 == len(self.outcomes())

    def test_who_hears(self) -> None:
        brass, body = self.make("Brass")
        assert {self.ada_script, brass} == set(evennia_ai.hear(self.room1, "hm", self.mira))
        assert [brass] == evennia_ai.hear(body, "hm", self.mira, "whisper")
        assert [] == evennia_ai.hear(self.tom, "hm", self.mira, "whisper")
        assert [] == evennia_ai.hear(self.room2, "hm", self.mira)
        assert [] == evennia_ai.hear(self.obj1, "hm", self.mira, "whisper")
        assert [] == evennia_ai.hear(self.room1, "  ", self.mira)
        assert [brass] == evennia_ai.hear(self.room1, "hm", self.ada)
        assert [] == evennia_ai.hear(self.tom.account, "hm", self.mira, "page")
        result = operations.give_account(self.ada_script)
        assert result.ok, result.message
        account = self.ada_script.obj.account or result.data
        assert [self.ada_script] == evennia_ai.hear(account, "hm", self.mira, "tell")

    def test_kinds(self) -> None:
        for kind in ("say", "pose", "emote", "whisper", "page", "tell"):
            listener = self.ada if kind in ("whisper", "page", "tell") else self.room1
            evennia_ai.hear(listener, "Ada, hello", self.mira, kind)
            self.clock.advance(5)
        sources = [source for source, _ in self.outcomes()]
        assert ["say", "pose", "pose", "whisper", "page", "page"] == sources

    def test_who_muted_her_is_not_heard(self) -> None:
        operations.set_muted(self.ada_script, self.mira, True)
        evennia_ai.hear(self.room1, "Ada, hello", self.mira)
        assert "muted" == self.newest().verdict.name

    def test_markup_is_no_word(self) -> None:
        evennia_ai.hear(self.room1, "|rAda|n, hello", self.mira)
        assert "Ada, hello" == self.newest().heard.body

    def test_what_is_wrong_is_said(self) -> None:
        rows = (
            ((self.room1, "hm", self.mira, "shout"), ValueError, "it is one of say, whisper"),
            ((self.room1, "hm", self.mira, None), ValueError, "it is one of say, whisper"),
            ((self.room1, "hm", self.mira, "channel"), ValueError, "Channels of Evennia's class"),
            ((self.room1, "hm", self.mira, "whisper"), ValueError, "this is a room; call it for"),
            ((self.room1, "hm", None), TypeError, "hear(sender=None): it must be who says it"),
            ((None, "hm", self.mira), TypeError, "it must be a room, a character or an account"),
            ((self.room1, ("hm", {}), self.mira), TypeError, "the words must be text"),
        )
        for arguments, kind, problem in rows:
            with self.subTest(told=problem), pytest.raises(kind) as caught:
                evennia_ai.hear(*arguments)
            assert problem in str(caught.value)
        assert [] == self.outcomes()


class TestCheck(GameTest):
    """`assistant check` tells if assistants can hear the game's speech."""

    def setUp(self) -> None:
        super().setUp()
        for person in (self.tom, self.mira):
            person.cmdset.add("evennia_ai.commands.AssistantCmdSet")

    def checked(self, line: str = "assistant check ada") -> str:
        self.forget()
        self.ask(line, *[completion("ok")] * 4)
        return next(line for line in self.tom.seen if "hear" in line)

    def test_stock_commands_are_heard(self) -> None:
        assert "Ada hears Evennia's own commands; nobody has spoken here yet." == self.checked()
        self.type(self.mira, "say what a day")
        assert "Ada hears what is said here." == self.checked("assistant check")

    def test_the_deaf_are_told_of(self) -> None:
        """Once somebody has spoken unheard, the check says what to do."""
        own_speech.use(self.tom, own_speech.CmdBareSay)
        assert "is not known yet" in self.checked()
        for kind in (own_speech.CmdBareSay, own_speech.CmdSaySent):
            own_speech.use(self.mira, kind)
            self.type(self.mira, "say Ada, hello")
            text = self.checked()
            assert text.startswith("Ada: I hear nothing when somebody speaks here.")
            assert "say (tests.game.messages.own_speech.CmdBareSay)" in text
            assert "add evennia_ai.hear(caller.location, words, caller) with the bare" in text
        own_speech.use(self.mira, own_speech.CmdSayAdapted)
        self.clock.advance(5)
        self.ask("say Ada, hello", says("Hello."), person=self.mira)
        assert "Ada hears what is said here." == self.checked()

    def test_a_character_that_speaks_in_its_own_way_is_told_of(self) -> None:
        """Evennia's commands speak through `at_say`, which the game's class may override."""
        herald = "tests.game.messages.own_speech.Herald"
        with override_settings(BASE_CHARACTER_TYPECLASS=herald):
            text = self.checked()
            assert "is not known yet. " in text
            assert f"at_say ({herald})" in text
            own_speech.Herald.at_say(self.mira, "hello Ada")
            text = self.checked()
        assert text.startswith("Ada: I hear nothing when somebody speaks here.")
        assert f"at_say ({herald})" in text

    def test_what_is_no_speech_says_nothing(self) -> None:
        """Lines of the game, of unknown names and of other assistants prove nothing."""
        self.make("Brass")
        self.ada.msg("The lamp goes out.")
        self.ada.msg("Mira leaves.")
        self.ada.msg('Oswin says, "Ada, hello"')
        self.ada.msg('Brass says, "Ada, hello"')
        assert [] == evennia_ai.hear(self.room2, "Ada, hello", self.mira)
        assert "nobody has spoken here yet" in self.checked()
