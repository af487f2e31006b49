"""The trace over HTTP: the same rights and masking as in the game."""

from django.test.utils import override_settings

from evennia_ai.core.memory.recollection import DAY_SECONDS
from evennia_ai.messages.incoming import person_of
from tests.api.support import ApiTest
from tests.game.support import says, whispers

ADA = "assistants/Ada/"
SECRET = "xylophone"


class TestTrace(ApiTest):
    def test_a_day_or_words_with_all_that_it_took(self) -> None:
        """Found also after the recent decisions are gone from memory."""
        self.ask("say @ada where is the lamp", says("Here."))
        self.ask("say @ada and the oil", says("There."))
        (newest,) = self.get(f"{ADA}trace/?limit=1")["messages"]
        event = tuple(newest[name] for name in ("text", "answer", "result"))
        assert ("and the oil", "There.", "answered") == event
        page = self.get(f"{ADA}trace/?limit=1&before={newest['id']}")
        assert ("where is the lamp", None) == (page["messages"][0]["text"], page["next"])
        self.ada_script.work.decisions.judged.clear()
        self.clock.advance(DAY_SECONDS)
        (message,) = self.get(f"{ADA}trace/?when=yesterday&words=LAMP")["messages"]
        assert ("scripted/scripted", 1) == (message["model"], message["calls"])
        assert [] == self.get(f"{ADA}trace/?when=today")["messages"]
        event = self.get(f"{ADA}events/{message['number']}/")
        assert event["text"].startswith("Ada: Tom spoke to me yesterday at ")

    def test_private_words_leak_on_no_way(self) -> None:
        """By default they are not stored. If stored, they are masked, and revealing is recorded."""
        self.ask(f"whisper Ada = my {SECRET}", whispers(f"A {SECRET}.", "Mira"), person=self.mira)
        self.ada_script.work.decisions.judged.clear()
        assert SECRET not in str(self.get(f"{ADA}trace/?reveal=true"))
        with override_settings(EVENNIA_AI_TRACE_CONFIG={"private_words": True}):
            self.ask(
                f"whisper Ada = a {SECRET}", whispers(f"A {SECRET}.", "Mira"), person=self.mira
            )
            for who in ("admin", "builder"):
                for path in ("trace/", "trace/?when=today", "events/2/", f"trace/?words={SECRET}"):
                    assert SECRET not in str(self.get(f"{ADA}{path}", who=who)), path
            assert [] == self.get(f"{ADA}trace/?reveal=true&words={SECRET}")["messages"]
            assert SECRET in str(self.get(f"{ADA}trace/?reveal=true", who="admin"))
            entries = self.get(f"{ADA}audit/?event=words_revealed")["entries"]
            fact = entries[0]["details"]
            miras = person_of(self.mira).replace("*#", "account-")
            fields = (fact["by"], fact["kind"], fact["person"])
            assert ("Astrid", "what was heard", miras) == fields
            self.fault(403, "GET", f"{ADA}trace/?reveal=true", who="player")

    def test_what_is_no_time_is_refused(self) -> None:
        error = self.fault(400, "GET", f"{ADA}trace/?when=soon")
        assert "yesterday" in str(error)
        self.fault(400, "GET", f"{ADA}trace/?before=0")
