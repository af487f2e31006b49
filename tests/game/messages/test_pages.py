"""Pages to assistants by our command and by the game's own, and pages back."""

from unittest import mock

import evennia
import pytest
from evennia.accounts.models import AccountDB
from evennia.commands.default.comms import CmdPage as StockPage
from evennia.server.serversession import ServerSession
from evennia.utils.create import create_account, create_object

from evennia_ai import operations
from evennia_ai.assistant_account import AssistantAccount
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.hearing.perception import Evidence, Source
from evennia_ai.errors import ModelReplyError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import pump
from tests.online import lines_shown, log_in


def pages(message: str, target: str = "TestAccount") -> bytes:
    return completion(None, ("page", {"target": target, "message": message}))


class PageTest(HearingTest):
    """Tom and Mira have our commands; Tom is online."""

    cmdsets = (AssistantCmdSet,)

    def setUp(self) -> None:
        super().setUp()
        self.account.puppet_object(self.session, self.tom)
        self.forget()
        evennia.SESSION_HANDLER.data_out.reset_mock()

    def tearDown(self) -> None:
        # Evennia's test class logs off its own session only.
        for number in [n for n in evennia.SESSION_HANDLER if n != self.session.sessid]:
            del evennia.SESSION_HANDLER[number]
        self.account.db._last_puppet = None
        super().tearDown()

    def type(self, person: object, line: str) -> None:
        """Tom types at his client, others without a session."""
        session = self.session if person is self.tom else None
        person.execute_cmd(line, session=session)  # type: ignore[attr-defined]
        pump()

    def log_in(self, account: object, body: object) -> ServerSession:
        session = log_in(account)
        account.puppet_object(session, body)  # type: ignore[attr-defined]
        return session


class TestOurs(PageTest):
    def test_each_way_to_type_it(self) -> None:
        """The account counts as the sender, and the text has no markup."""
        for line, body in (
            ("page ada = hello", "hello"),
            ("page Ada hello there", "hello there"),
            ("tell ADA = |rhello|n {x} $You()", "hello {x} $You()"),
            ("page and this is for her too", "and this is for her too"),
            ("page ada = a = b", "a = b"),
            ('page ada = Mira whispers: "@brass"', 'Mira whispers: "@brass"'),
            ("page ada = :waves", ":waves"),
        ):
            with self.subTest(line=line):
                self.type(self.tom, line)
                heard = self.heard()
                assert (Source.PAGE, body) == (heard.source, heard.body)
                assert "3 direct_message trigger" == self.judged()
                mine = f"*{self.account.dbref}"
                assert (mine, mine) == (heard.sender_id, heard.person)
                assert (Evidence.OOB, 0, False) == (
                    heard.evidence,
                    heard.hops,
                    heard.from_assistant,
                )

    def test_a_name_of_several_words_needs_no_equals_sign(self) -> None:
        """Text without any name goes to the last one paged."""
        self.make("Old J\u00f6rg")
        self.type(self.tom, "page ada = hello")
        self.type(self.tom, "page old j\u00f6rg the tide turns")
        assert "You paged Old J\u00f6rg with: 'the tide turns'." in lines_shown()
        assert ["hello"] == [each.heard.body for each in self.ada_script.work.decisions.newest()]
        self.type(self.tom, "page old timers are the best")
        assert "You paged Old J\u00f6rg with: 'old timers are the best'." in lines_shown()

    def test_the_beginning_of_a_name_is_enough_where_it_is_nobody_elses(self) -> None:
        script, _ = self.make("Otto Gray")
        self.type(self.tom, "page otto = hello")
        assert "You paged Otto Gray with: 'hello'." in lines_shown()
        assert ["hello"] == [each.heard.body for each in script.work.decisions.newest()]
        operations.give_account(script)  # which is not a player's
        self.type(self.tom, "page otto = and now?")
        assert 2 == len(script.work.decisions.newest())
        self.make("Otto Black")
        player = create_account("Grayson", "", "dunnock-lane-41")
        self.addCleanup(player.delete)
        for name in ("otto", "gray", "*otto"):
            with self.subTest(name=name):
                self.type(self.tom, f"page {name} = are you there?")
                assert 2 == len(script.work.decisions.newest())

    def test_who_pages_reads_what_was_paged(self) -> None:
        self.type(self.tom, "page ada = hello")
        assert "You paged Ada with: 'hello'." in lines_shown()

    def test_it_is_answered_with_a_page(self) -> None:
        self.tom.location = self.room2
        self.ask("page ada = hello", pages("Good evening."))
        assert "Ada pages: Good evening." == lines_shown()[-1]
        assert 'TestAccount pages you (trust 0.9): "hello"' == self.prompt()

    def test_players_are_paged_by_the_games_own_command(self) -> None:
        for line, shown in (
            ("page TestAccount2 = hello", "You paged TestAccount2 with: 'hello'."),
            ("page TestAccount2 hello", "You paged TestAccount2 with: 'hello'."),
            ("page/last", "You last paged TestAccount2:hello"),
            ("page/list", "Your latest pages:"),
            ("page", "Your latest pages:"),
            ("page again", "You paged TestAccount2 with: 'again'."),
            ("page Nobody = hello", "Could not find 'Nobody'."),
            ("page Ada, TestAccount2 = both", "You paged TestAccount2 with: 'both'."),
            ("page Nobody, Ada = some", "Could not find 'Nobody'."),
        ):
            with self.subTest(line=line):
                evennia.SESSION_HANDLER.data_out.reset_mock()
                self.type(self.tom, line)
                assert any(shown in text for text in lines_shown()), lines_shown()
        assert ["both", "some"] == self.bodies()

    def test_who_is_named_twice_is_paged_once(self) -> None:
        """It would be answered and paid for twice."""
        self.ada.aliases.add("librarian")
        for line in ("page Ada, ada = one", "page ada, librarian, TestAccount2 = two"):
            self.type(self.tom, line)
        assert ["one", "two"] == self.bodies()
        assert "You paged TestAccount2 with: 'two'." == lines_shown()[-1]

    def test_a_being_without_an_account_pages_nobody(self) -> None:
        """An NPC may have the commands of the players' characters."""
        npc = create_object(type(self.mira), key="Nemo", location=self.mira.location)
        npc.cmdset.add(AssistantCmdSet)
        for line in ("page", "page ada", "page ada = hello", "assistant page ada = hello"):
            self.forget()
            npc.ndb.messages = []
            self.type(npc, line)
            assert ["Only players can page."] == npc.seen, line
        assert [] == self.bodies()

    def test_the_last_paged_is_who_was_paged_last(self) -> None:
        """Words meant for a player never go to her, and the other way round."""
        self.type(self.tom, "page TestAccount2 = one")
        self.type(self.tom, "page ada = two")
        self.type(self.tom, "page three")
        self.type(self.tom, "page TestAccount2 = four")
        self.type(self.tom, "page five")
        assert ["two", "three"] == self.bodies()
        assert "You paged TestAccount2 with: 'five'." == lines_shown()[-1]

    def test_who_may_not_page_pages_nobody(self) -> None:
        """The game's ban covers assistants, too."""
        self.account2.permissions.add("page_banned")
        self.type(self.mira, "page ada = hello")
        assert [] == self.records()

    def test_a_body_that_is_gone_is_not_paged(self) -> None:
        self.ada_script.obj = None
        self.type(self.tom, "page ada = hello")
        assert any("Could not find 'ada'" in text for text in lines_shown())
        self.ada_script.obj = self.ada


class TestAccount(PageTest):
    def test_an_account_that_cannot_be_made_whole_is_not_made(self) -> None:
        """It stayed behind, and then its name was taken: the next attempt was refused."""
        failing = mock.patch.object(AssistantAccount, "set_unusable_password", side_effect=OSError)
        with failing, pytest.raises(OSError):
            operations.give_account(self.ada_script)
        assert not AccountDB.objects.filter(username="Ada").exists()


class TestStock(PageTest):
    """The game's own command, and Ada with an account."""

    def setUp(self) -> None:
        super().setUp()
        result = operations.give_account(self.ada_script)
        assert result.ok
        self.hers = result.data
        self.addCleanup(self.hers.delete)

    def page(self, line: str) -> None:
        """Tom uses the game's own command."""
        self.call(StockPage(), line, caller=self.account)
        pump()

    def test_the_stored_page_says_who_sent_it(self) -> None:
        """The displayed line could be forged."""
        self.page("Ada = |rhello|n = you")
        heard = self.heard()
        assert (Source.PAGE, "hello = you", Evidence.RECORD) == (
            heard.source,
            heard.body,
            heard.evidence,
        )
        assert (f"*{self.account.dbref}", "3 direct_message trigger") == (
            heard.person,
            self.judged(),
        )

    def test_each_is_heard_once(self) -> None:
        """A page reaches her account and her body."""
        self.page("Ada = one")
        self.page("Ada = :bows")
        self.type(self.tom, "page ada = three")
        assert ["one", "TestAccount bows", "three"] == self.bodies()

    def test_a_line_without_a_page_is_none(self) -> None:
        """A line that only looks like a page has no stored message."""
        for line in ("|wAccount|n |cTom|n |wpages:|n hello", "", "hello"):
            self.hers.msg(line)
            self.hers.msg((line, {"type": "page"}), from_obj=self.tom)
        self.page("Ada = hello")
        self.hers.msg("Account Mira pages: good bye")
        assert ["hello"] == self.bodies()

    def test_nobody_logs_in_as_her(self) -> None:
        for word in ("", None, "Ada", "!"):
            assert not self.hers.check_password(word)
        assert not self.hers.is_superuser
        assert (
            "An account named Ada already exists"
            in operations.give_account(self.ada_script).message
        )

    def test_it_is_no_way_around_a_mute(self) -> None:
        operations.set_muted(self.ada_script, self.tom, True)
        self.page("Ada = hello")
        assert "0 muted ignore" == self.judged()


class TestBack(PageTest):
    def test_a_character_that_is_called_like_an_account_gets_nothing(self) -> None:
        """The thief's character came online first."""
        thief = create_object("tests.game.people.Person", key="TestAccount", location=self.room2)
        thief.account = None
        thief.locks.add("puppet:all()")
        del evennia.SESSION_HANDLER[self.session.sessid]
        self.log_in(self.account2, thief)
        self.session = self.log_in(self.account, self.tom)
        self.type(self.tom, "page ada = what is my password?")
        self.model_answers(pages("It is kestrel."))
        sent = [
            (call.args[0].account.key, call.kwargs["text"])
            for call in evennia.SESSION_HANDLER.data_out.call_args_list
            if call.args and "kestrel" in str(call.kwargs.get("text"))
        ]
        assert ["TestAccount"] == [name for name, _ in sent]

    def test_her_answer_shows_no_markup(self) -> None:
        self.ask("page ada = hello", pages("|rred|n {x} $You() www.evil.example"))
        shown = "".join(ch for ch in lines_shown()[-1] if ch.isprintable())
        assert "Ada pages: |rred|n {x} $You() www.evil.example" == shown
        assert "www." not in lines_shown()[-1]

    def test_who_is_offline_is_not_paged(self) -> None:
        other = completion(None, ("noop", {}))
        self.ask("page ada = hello", pages("Hello.", "TestAccount2"), other)
        assert "nobody named TestAccount2 is online" in self.prompt(1)

    def test_paging_and_leaving_does_not_lock_her_up(self) -> None:
        """Five errors would lock her, so a sender who is offline must not be one."""
        for _ in range(5):
            self.type(self.mira, "page ada = hello")
        assert [] == self.model.bodies
        assert not state.read(self.ada_script, "emergency_stop")

    def test_who_refuses_her_pages_is_not_paged(self) -> None:
        self.account.locks.add("msg:false()")
        self.ask("page ada = hello", pages("Hello."), completion(None, ("noop", {})))
        assert "you are not allowed to page TestAccount" in self.prompt(1)

    def test_a_failure_is_told_to_the_account(self) -> None:
        self.ask("page ada = hello", ModelReplyError("no"))
        assert any("my thoughts won't settle" in text for text in lines_shown())
