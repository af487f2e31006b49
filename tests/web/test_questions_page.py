"""The page of open questions."""

from evennia_ai import approvals
from evennia_ai.core.safety.questions import ApprovalRequest
from evennia_ai.operations.times import as_shown, iso
from evennia_ai.runtime.watching import FEED
from tests.web.support import WebTest, text_of


class QuestionsTest(WebTest):
    """Ada has asked a question of those who control her; after an hour it counts as a no."""

    def setUp(self) -> None:
        super().setUp()
        asking = ApprovalRequest("tick 1", "safety.limit.max_iterations", "May I go on?")
        waiting = approvals.ask(self.ada_script, asking, timeout_seconds=3600)
        waiting.addErrback(lambda _: None)
        self.addCleanup(waiting.cancel)
        self.question = approvals.pending(self.ada_script)[0]

    def test_it_follows_what_is_asked(self) -> None:
        """Accounts that may not list all assistants get no stream of all."""
        mark = FEED.mark
        page = self.get("questions").content.decode()
        assert f'sse-connect="/ai-stream?after={mark}"' in page
        assert "May I go on?" in page.partition('id="fresh"')[2]
        assert "sse-connect" not in self.get("questions", who="player").content.decode()

    def test_times_are_by_the_games_clock(self) -> None:
        """Attributes for programs are in ISO 8601."""
        page = self.get("questions")
        shown = text_of(page)
        assert "May I go on?" in shown
        assert f"Asked {as_shown(self.question.asked_at)} " in shown
        assert f"Counts as no after {as_shown(self.question.expires_at)} " in shown
        assert "+00:00" not in shown
        for moment in (self.question.asked_at, self.question.expires_at):
            assert f'<time datetime="{iso(moment)}">' in page.content.decode()
