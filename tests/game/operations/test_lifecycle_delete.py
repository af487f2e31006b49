"""Deleting an assistant: what goes with it, who is told, and what a refusal leaves."""

import gzip
from pathlib import Path
from typing import Any
from unittest import mock

from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.utils import logger
from evennia.utils.create import create_account, create_channel, create_object

from evennia_ai import approvals, operations
from evennia_ai.assistant_account import AssistantAccount
from evennia_ai.assistant_character import AssistantCharacter
from evennia_ai.core.safety.questions import ApprovalRequest, QuestionOutcome
from evennia_ai.emergency import RETURNED_LINE
from evennia_ai.operations.assistants import lifecycle
from evennia_ai.operations.result import ProblemKind
from evennia_ai.runtime import state
from tests.game.emergency.stopping import RETURNED, SafetyTest
from tests.game.support import archive_folder, pump, whispers


class Stubborn(AssistantCharacter):
    """A body that refuses to be deleted until `may_go` is set."""

    may_go = False

    def at_object_delete(self) -> bool:
        return self.may_go


class DeleteTest(SafetyTest):
    def setUp(self) -> None:
        super().setUp()
        self.folder = archive_folder(self)

    def delete(self, script: Any = None, **options: Any) -> Any:
        result = lifecycle.delete_assistant(script or self.ada_script, by="Tom", **options)
        pump()
        return result


class TestDelete(DeleteTest):
    def test_it_is_no_alarm(self) -> None:
        """The log has a line of information, and staff online hear of no emergency."""
        self.forget()
        with (
            mock.patch.object(logger, "log_err") as errors,
            mock.patch.object(logger, "log_info") as log,
        ):
            assert self.delete().ok
        assert [] == errors.call_args_list
        lines = [call.args[0] for call in log.call_args_list]
        assert "[assistant] Ada is stopped: it is deleted: deleted by Tom" in lines
        assert not any("emergency" in line for line in self.tom.seen)

    def test_nothing_of_her_is_left(self) -> None:
        create_channel("Public", locks="listen:all();send:all()")
        operations.set_channel(self.ada_script, "Public", "context")
        assert operations.give_account(self.ada_script).ok
        thing = create_object("evennia.objects.objects.DefaultObject", key="lamp", home=self.room2)
        thing.location = self.ada
        result = self.delete(reason="she was a test")
        assert result.ok, result.message
        assert result.message.startswith("Ada is deleted")
        assert result.data.endswith(".jsonl.gz")
        assert None is operations.find_assistant("Ada")
        assert not ObjectDB.objects.filter(db_key="Ada").exists()
        assert not ScriptDB.objects.filter(db_key="Ada").exists()
        assert not AccountDB.objects.filter(username="Ada").exists()
        assert [] == list(ChannelDB.objects.get(db_key="Public").subscriptions.all())
        assert self.room2 == thing.location
        assert operations.create_assistant("Ada", location=self.room1).ok

    def test_whoever_waits_is_told(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        self.queue(2, self.mira)
        script = self.ada_script
        running = script.work.in_flight
        assert running is not None
        self.delete()
        assert (1, 1) == (self.returns(self.tom), self.returns(self.mira))
        assert RETURNED_LINE.replace("{name}", "Ada") == RETURNED
        assert running.called
        assert None is script.work
        script.at_repeat()
        pump()

    def test_her_record_is_put_away_whole(self) -> None:
        operations.set_enabled(self.ada_script, False)
        result = self.delete(reason="she was a test")
        lines = gzip.decompress(Path(result.data).read_bytes()).decode().splitlines()
        text = "\n".join(lines)
        assert "AssistantCreated" in text
        assert "she was a test" in text
        assert '"Tom"' in text
        assert str(self.folder) in result.message

    def test_what_she_asked_is_closed(self) -> None:
        """The code that waits for the answer is told that the question was discarded."""
        came: list[Any] = []
        asking = ApprovalRequest("tick 1 max_iterations", "safety.limit.max_iterations", "May I?")
        approvals.ask(self.ada_script, asking).addBoth(came.append)
        (question,) = approvals.pending(self.ada_script)
        assert self.delete().ok
        assert [QuestionOutcome.DISCARDED] == [answer.outcome for answer in came]
        assert "Ada is stopped" == approvals.why_closed(question.number)

    def test_one_who_is_stopped_or_has_no_body_goes_too(self) -> None:
        brass, _ = self.make("Brass")
        brass.trigger_emergency_stop("test")
        assert self.delete(brass).ok
        bert, body = self.make("Bert")
        bert.obj = None
        assert self.delete(bert).ok
        body.delete()
        carol, _ = self.make("Carol")
        carol.pause()
        carol.work = None
        assert self.delete(carol).ok
        assert [self.ada_script] == operations.list_assistants()

    def test_the_account_of_a_player_stays(self) -> None:
        """An account that somebody can log in to is kept; only the link is removed."""
        account = create_account("Keeper", "", "lanterns-are-bright", typeclass=AssistantAccount)
        account.db.assistant_body = self.ada
        assert self.delete().ok
        keeper = AccountDB.objects.get(username="Keeper")
        assert not keeper.attributes.has("assistant_body")
        keeper.delete()


class TestRefused(DeleteTest):
    def test_nobody_is_thrown_out_of_her_body(self) -> None:
        self.account.puppet_object(self.session, self.ada)
        try:
            result = self.delete()
            message = "Someone controls Ada's body; they have to leave it first (ooc)."
            assert (message, ProblemKind.CONFLICT) == (result.message, result.problem)
            assert not state.read(self.ada_script, "emergency_stop")
        finally:
            self.account.unpuppet_object(self.session)
        assert self.delete().ok

    def test_the_first_character_stays(self) -> None:
        """Evennia needs object #1."""
        self.ada_script.obj = ObjectDB.objects.get(id=1)
        try:
            assert "the game's first character" in self.delete().message
        finally:
            self.ada_script.obj = self.ada

    def test_what_was_refused_half_way_is_whole_and_can_be_tried_again(self) -> None:
        """It stays stopped, but keeps its body and settings."""
        script, body = self.make("Brass", typeclass=Stubborn, persona="A knocker.")
        result = self.delete(script)
        assert ProblemKind.UNAVAILABLE is result.problem
        assert "Brass is stopped, and could not be deleted: at_object_delete" in result.message
        assistant: Any = operations.find_assistant("Brass")
        assert state.read(assistant, "emergency_stop")
        assert "A knocker." == state.read(assistant, "persona")
        assert body.pk is not None
        assert [] == list(self.folder.iterdir())
        assert assistant is body.assistant_script
        assert operations.clear(assistant, by="Tom").ok
        self.answer_at_once(assistant)
        self.ask("whisper brass = hello", whispers("Still here."))
        assert 'Brass whispers: "Still here."' in self.tom.heard_from(body)
        body.may_go = True
        assert self.delete(assistant).ok
        assert None is operations.find_assistant("Brass")
        assert not ObjectDB.objects.filter(db_key="Brass").exists()
