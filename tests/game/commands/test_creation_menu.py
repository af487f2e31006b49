"""`assistant create` without a name: the menu that creates an assistant."""

from typing import Any

from django.test.utils import override_settings
from evennia.accounts.models import AccountDB
from evennia.server import signals
from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.commands.creation import open_creation
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.commands.ai_case import StaffCommandTest
from tests.game.support import pump, whispers

EDDA = ("Edda", "", "A |rred|n cloak.", "Edda copies charts.", "here", "1", "next")
TITLE = "A new assistant, {} of 8"


class MenuTest(StaffCommandTest):
    """Tom uses the menu at his own command line."""

    def open(self, person: Any = None) -> str:
        self.discard_shown()
        open_creation(person or self.tom)
        return self.shown()

    def discard_shown(self) -> None:
        self.typed("")

    def answer(self, *lines: str) -> str:
        """Type these lines one after the other and return the text shown for the last."""
        shown = ""
        for line in lines:
            shown = self.typed(line)
        return shown

    def is_at(self, step: int, shown: str) -> bool:
        return TITLE.format(step) in shown

    def count(self) -> int:
        return len(operations.list_assistants())


class TestTheWay(MenuTest):
    def test_a_working_assistant_in_a_minute(self) -> None:
        assert self.is_at(1, self.open())
        shown = self.answer(*EDDA)
        for expected in (
            "name       Edda",
            "look       A |rred|n cloak.",
            "character  Edda copies charts.",
            "place      Room",
            "answers    Whoever whispers to Edda, pages Edda, or says @Edda",
            "model      the game's",
        ):
            assert expected in shown, expected
        assert 1 == self.count()
        shown = self.answer("create")
        assert "Edda is awake in Room. Try: whisper Edda = hello" in shown
        script: Any = operations.find_assistant("edda")
        assert "A |rred|n cloak." == script.obj.db.desc
        assert "Edda copies charts." == state.read(script, "persona")
        assert self.room1 == script.obj.location
        self.answer_at_once(script)
        self.ask("whisper edda = hello", whispers("Hello."))
        assert 'Edda whispers: "Hello."' in self.tom.heard_from(script.obj)

    def test_each_choice_counts(self) -> None:
        self.open()
        self.answer("Old Tom", "", "", "", self.room2.dbref, "everybody", "scripted", "next", "yes")
        script: Any = operations.find_assistant("old tom")
        assert self.room2 == script.obj.location
        assert "trigger" == state.read(script, "room_messages")
        assert "scripted" == state.read(script, "llm_provider")
        assert "" == state.read(script, "persona")
        assert script.obj.db.desc.startswith("Old Tom is an assistant")

    def test_a_permission_may_be_named(self) -> None:
        self.open()
        shown = self.answer("Edda", "", "", "", "here", "Bilder")
        assert "There is no permission 'Bilder'; there are Guest, Player" in shown
        assert "That does not work: 'perm(' is not a lock string" in self.answer("perm(")
        assert self.is_at(7, self.answer("builders"))
        self.answer("", "create")
        script: Any = operations.find_assistant("edda")
        assert ["Builder"] == list(state.read(script, "trigger_permissions"))

    def test_every_step_can_be_gone_back_to(self) -> None:
        """`back` goes one step back, a number in the summary to any step; answers stay."""
        self.open()
        self.answer(*EDDA)
        for step in (7, 6, 5, 4, 3, 2, 1):
            assert self.is_at(step, self.answer("back")), step
        shown = self.answer("")
        assert self.is_at(2, shown)
        shown = self.answer("")
        assert "Now: A |rred|n cloak." in shown
        self.answer("", "", "", "1", "")
        assert self.is_at(1, self.answer("1"))
        shown = self.answer("Brass", "", "", "", "", "1", "")
        assert "name       Brass" in shown
        assert "character  Edda copies charts." in shown

    def test_it_can_be_left_at_every_step(self) -> None:
        for steps in range(len(EDDA) + 1):
            self.open()
            self.answer(*EDDA[:steps])
            assert "Nothing was created." in self.answer("quit"), steps
            assert self.tom.ndb._evmenu is None
            assert "Ada has no goal" in self.typed("aigoal ada"), steps
        assert 1 == self.count()


class TestNames(MenuTest):
    def test_names_that_will_not_do(self) -> None:
        self.open()
        for line, expected in (
            ("", "An assistant needs a name"),
            ("ADA", "There is an assistant named ADA already; choose another name."),
            ("mira", "There is a character named mira already; choose another name."),
            ("All", "All means something else in commands"),
            ("Off", "Off means something else in commands"),
            ("Say", "Say is a command of the game"),
            ("#12", "The name #12 does not begin with a letter"),
            ("Edda = x", "The name Edda = x holds =, which commands use"),
            ("|rEdda", "The name Edda holds a colour code; leave it out."),
            ("E|rdd|na", "The name Edda holds a colour code; leave it out."),
            ("E" * 61, "has 61 characters; a name has at most 60"),
        ):
            shown = self.answer(line)
            assert expected in shown, line
            assert self.is_at(1, shown), line

    def test_names_that_will(self) -> None:
        for name in ("Old Tom", "O'Hara", "Ödön", "エッダ", "R2-D2", "Dr. No"):
            self.open()
            assert self.is_at(2, self.answer(name)), name
            self.answer("quit")

    def test_two_builders_with_the_same_name(self) -> None:
        """The slower builder is asked for another name and keeps all other answers."""
        self.open()
        self.answer(*EDDA)
        self.make("Edda")
        shown = self.answer("create")
        assert "There is an assistant named Edda already; choose another name." in shown
        assert self.is_at(1, shown)
        self.answer("Edda Two", "", "", "", "", "1", "")
        assert "Edda Two is awake in Room." in self.answer("create")


class TestRooms(MenuTest):
    def to_rooms(self) -> str:
        self.open()
        return self.answer("Edda", "", "", "")

    def test_what_is_no_room_is_asked_for_again(self) -> None:
        create_object("evennia.objects.objects.DefaultRoom", key="Twin")
        create_object("evennia.objects.objects.DefaultRoom", key="Twin")
        self.room2.locks.add("teleport_here:false()")
        assert self.is_at(5, self.to_rooms())
        for line, expected in (
            ("Nowhere", "There is no room named 'Nowhere'."),
            ("Mira", "There is no room named 'Mira'."),
            ("|rX", "There is no room named '|rX'."),
            ("twin", "Several rooms have that name; type a number: Twin (#"),
            (self.room2.dbref, f"You may not move anyone to {self.room2.key}."),
        ):
            shown = self.answer(line)
            assert expected in shown, line
            assert self.is_at(5, shown), line

    def test_a_room_that_is_gone_by_then(self) -> None:
        room = create_object("evennia.objects.objects.DefaultRoom", key="Attic")
        self.to_rooms()
        self.answer("attic", "1", "next")
        room.delete()
        shown = self.answer("create")
        assert "That room is gone; choose another." in shown
        assert self.is_at(5, shown)
        assert 1 == self.count()

    def test_whoever_is_nowhere_names_a_room(self) -> None:
        self.tom.location = None
        assert "in Room" not in self.to_rooms()
        assert "There is no room named ''" in self.answer("")
        assert self.is_at(6, self.answer(self.room1.dbref))


class TestModels(MenuTest):
    def to_models(self) -> str:
        self.open()
        return self.answer("Edda", "", "", "", "here", "1")

    def test_what_can_be_chosen(self) -> None:
        shown = self.to_models()
        assert "the game's: scripted model" in shown
        assert "demo brain, offline" in shown
        assert "Now: demo brain" in self.answer("2")
        assert "Now: llama3.2 via ollama." in self.answer("ollama llama3.2")
        assert "Type a model's name, or a provider" in self.answer("no such thing")
        assert "model      llama3.2 via ollama" in self.answer("next")

    def test_it_is_tried_while_the_menu_goes_on(self) -> None:
        self.to_models()
        shown = self.answer("test")
        assert "Asking the model; you can go on meanwhile." in shown
        assert self.is_at(7, shown)
        assert "The model is already being asked." in self.answer("test")
        assert self.is_at(8, self.answer("next"))
        self.model.answers.extend([completion("Ding!"), completion("hi")])
        self.discard_shown()
        self.model_answers(completion("hi"))
        shown = self.shown()
        assert "answers     ok" in shown
        assert "tool calls  NO  it answered 'Ding!' instead of a tool call" in shown
        assert "Fix what says NO, or choose another." in shown

    def test_what_breaks_is_said_and_may_be_tried_again(self) -> None:
        self.to_models()
        self.answer("test")
        self.model.fail(RuntimeError("|rburst"))
        pump()
        assert "The check itself failed: |rburst" in self.shown()
        assert "Asking the model" in self.answer("test")

    def test_a_game_without_a_model_is_told(self) -> None:
        """An assistant can be created even so."""
        with override_settings(EVENNIA_AI_FALLBACK_MODELS=5):
            assert "The game's model is not set up" in self.to_models()
            assert self.is_at(8, self.answer(""))


class TestClumsy(MenuTest):
    """Lines that were probably not meant as answers; typed again, they are taken."""

    def test_a_command_is_no_answer(self) -> None:
        assert "(type quit to leave; use other commands afterwards)" in self.open()
        steps = (
            (1, "say hello to Edda", ("Edda", "")),
            (3, "look at me", ("A tall woman.",)),
            (4, "whisper ada = hello", ("Edda copies charts.",)),
        )
        for step, line, right in steps:
            shown = self.answer(line)
            assert f"'{line.split()[0]}' is a game command, which does not work here" in shown
            assert self.is_at(step, shown) or step > 1, line
            self.answer(*right)
        assert "there is no room named" in self.answer("inventory").casefold()
        self.answer("here")
        assert "There is no permission 'inventory'" in self.answer("inventory")

    def test_what_is_meant_is_typed_once_more(self) -> None:
        self.open()
        self.answer("Page Turner")
        assert self.is_at(2, self.answer("Page Turner"))
        self.answer("")
        assert "is a game command" in self.answer("Look at this: a lamp.")
        self.answer("Look at this: a lamp.", "", "here", "1", "next", "create")
        script: Any = operations.find_assistant("page turner")
        assert "Look at this: a lamp." == script.obj.db.desc

    def test_words_of_who_wants_to_leave(self) -> None:
        self.open()
        for line in ("cancel", "Done", "stop"):
            assert "To leave this menu, type quit" in self.answer(line), line
        assert self.is_at(2, self.answer("Edda"))

    def test_not_every_word_is_a_model(self) -> None:
        self.open()
        self.answer("Edda", "", "", "", "here", "1")
        for line, answer in (
            ("yes", "'yes' does not look like a model's name, such as gpt-4.1-mini"),
            ("inventory", "'inventory' is a game command"),
            ("stop", "To leave this menu, type quit"),
            ("ollama one of these", "Type a model's name, or a provider"),
        ):
            shown = self.answer(line)
            assert answer in shown, line
            assert "Now: the game's" in shown, line
        assert "'mistral' does not look like a model" in self.answer("mistral")
        assert "does not look like a model" not in self.answer("mistral")
        assert "Now: llama3.2 via ollama." in self.answer("Ollama llama3.2")
        assert "llama3.2 via ollama, not tried yet" in self.answer("next")
        self.answer("back", "1")
        self.answer("quit")

    def test_what_was_made_is_told_with_what_comes_next(self) -> None:
        self.open()
        self.answer(*EDDA)
        shown = self.answer("create")
        for words in (
            "Its body is the game's own character class; it thinks with",
            "assistant check Edda",
            "assistant config Edda",
            "assistant delete Edda",
        ):
            assert words in shown


class TestTrouble(MenuTest):
    """Rights, odd input, and events that end the menu from outside."""

    def test_it_is_for_staff(self) -> None:
        """The right is checked when the menu opens and again when it creates."""
        self.forget()
        open_creation(self.mira)
        assert ["You may not do that: create needs perm(Builder)."] == self.mira.seen
        self.open()
        self.answer(*EDDA)
        self.account.permissions.clear()
        assert "You may not do that: create needs perm(Builder)." in self.answer("create")
        assert 1 == self.count()
        assert self.tom.ndb._evmenu is None

    def test_weird_input(self) -> None:
        self.open()
        assert "That has 2001 characters; at most 2000 are allowed." in self.answer(
            "Edda", "", "x" * 2001
        )
        self.answer("$func(a) {b} |lcquit|ltclick|le\x07 \x1b[31mred")
        shown = self.answer("{{name}} is |500bold", "here", "1", "next")
        assert "look       $func(a) {b}" in shown
        assert "character  {{name}} is |500bold" in shown
        self.answer("create")
        script: Any = operations.find_assistant("Edda")
        assert "{{name}} is |500bold" == state.read(script, "persona")

    def test_it_ends_when_whoever_opened_it_leaves(self) -> None:
        """The next line after coming back is an ordinary command again."""
        self.open()
        self.answer("Edda", "", "")
        session = self.session
        self.account.unpuppet_object(session)
        assert None is self.tom.ndb._evmenu
        self.account.puppet_object(session, self.tom)
        assert "You say" in self.answer("say Edda copies charts.")
        assert 1 == self.count()

    def test_it_goes_on_when_somebody_else_leaves(self) -> None:
        self.open()
        signals.SIGNAL_OBJECT_POST_UNPUPPET.send(sender=self.mira, session=None, account=None)
        assert self.is_at(2, self.answer("Edda"))
        self.answer("quit")

    def test_an_accounts_menu_ends_with_its_session(self) -> None:
        account = AccountDB.objects.get(id=self.account.id)
        open_creation(account, self.session)
        signals.SIGNAL_ACCOUNT_POST_LAST_LOGOUT.send(sender=account, session=self.session)
        assert None is account.ndb._evmenu

    def test_a_reload_ends_it(self) -> None:
        assert "a reload or leaving the game ends this too" in self.open()
        self.answer("Edda")
        self.tom.nattributes.clear()
        self.tom.cmdset.update(init_mode=True)
        assert "Command 'A red cloak' is not available." in self.answer("A red cloak")
        assert 1 == self.count()

    def test_an_account_without_a_body_may_use_it(self) -> None:
        """An account has no location, so it must name a room."""
        account = AccountDB.objects.get(id=self.account.id)
        open_creation(account)
        assert account.ndb._evmenu is not None
        account.ndb._evmenu.close_menu()
