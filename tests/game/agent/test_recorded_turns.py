"""The last turns of an assistant in memory, and the feed of changes to watchers."""

from django.test import override_settings

from evennia_ai import operations
from evennia_ai.engine.recording import RecordedCall, ToolUse
from evennia_ai.runtime.watching import FEED, Change, Feed, ring_for
from tests.game.support import GameTest, whispers


class RecordedTurnsTest(GameTest):
    def test_a_whisper_is_recorded(self) -> None:
        changes: list[Change] = []
        FEED.watchers.add(changes.append)
        self.addCleanup(FEED.watchers.discard, changes.append)
        self.ask("whisper Ada = hello", whispers("Hello, Tom."))
        (record,) = self.ada_script.work.recorded.newest()
        asked, whispered = record.steps
        assert isinstance(asked, RecordedCall)
        assert isinstance(whispered, ToolUse)
        assert "hello" in dict(asked.prompt.blocks)["pending_event"]
        assert "character_context" in dict(asked.prompt.blocks)
        assert "hello" in str(asked.messages[-1]["content"])
        assert {"message": "Hello, Tom.", "target": "Tom"} == dict(whispered.call.arguments)
        assert whispered.success
        assert record.turn.kept_audiences
        assert {"Ada"} == {change.assistant for change in changes}

    def test_a_forgotten_person_is_in_no_record(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello, Tom."))
        assert self.ada_script.work.recorded.newest()
        self.type(self.tom, "assistant forget everything Ada")
        self.type(self.tom, "yes")
        assert [] == self.ada_script.work.recorded.newest()

    def test_a_stop_breaks_off_a_record(self) -> None:
        self.ask("whisper Ada = hello")  # which the model does not answer
        (record,) = self.ada_script.work.recorded.newest()
        assert record.ended is None
        operations.stop(self.ada_script, "enough")
        assert record.ended is not None
        assert record.broke_off

    def test_a_game_may_want_none(self) -> None:
        """A wrong setting counts as not set."""
        for config, is_on in (
            ({}, True),
            ({"enabled": False}, False),
            ({"recorded_turns": 0}, False),
            ({"recorded_turns": -1}, True),
        ):
            with override_settings(EVENNIA_AI_WEB_CONFIG=config):
                assert is_on is ring_for("Ada").is_on
        with override_settings(EVENNIA_AI_WEB_CONFIG={"recorded_turns": 0}):
            self.ada_script.work.recorded = ring_for("Ada")
        self.ask("whisper Ada = hello", whispers("Hello, Tom."))
        assert [] == self.ada_script.work.recorded.newest()


class FeedTest(GameTest):
    def test_what_was_missed_is_told(self) -> None:
        """None means that some are lost, or that the number is not of this feed."""
        feed = Feed(most=2)
        assert [] == feed.since(0)
        for name in ("Ada", "Bert", "Cleo"):
            feed.tell(name)
        assert ["Bert", "Cleo"] == [change.assistant for change in feed.since(1) or ()]
        assert [] == feed.since(3)
        assert (None, None) == (feed.since(0), feed.since(4))

    def test_a_watcher_that_fails_harms_nobody(self) -> None:
        """It is removed."""
        feed = Feed()
        changes: list[Change] = []

        def fail(change: Change) -> None:
            raise ValueError

        feed.watchers = {fail, changes.append}
        feed.tell("Ada")
        feed.tell("Ada")
        assert ([1, 2], {changes.append}) == ([each.number for each in changes], feed.watchers)
