"""Private words of a player, before other listeners."""

from typing import Any

from tests.game.listening import HearingTest
from tests.game.support import says, whispers

SECRET = "the crown is under the stairs"


class TestAudience(HearingTest):
    """Tom whispered a secret to Ada; Mira stands beside him."""

    def setUp(self) -> None:
        super().setUp()
        self.ask(f"whisper Ada = {SECRET}", whispers("I see."))

    def sent_for(self, line: str, answer: bytes, person: Any = None) -> str:
        before = len(self.model.bodies)
        self.ask(line, answer, person=person)
        assert before + 1 == len(self.model.bodies), "she was not asked"
        return str(self.model.bodies[-1]["messages"])

    def test_alone_with_him_she_goes_on(self) -> None:
        assert SECRET in self.sent_for("whisper Ada = well?", whispers("Hm."))

    def test_before_others_she_was_told_nothing(self) -> None:
        self.sent_for("say @Ada what of the weather?", says("It rains."))
        sent = self.sent_for("say @Ada and of the crown?", says("What crown?"))
        assert SECRET not in sent
        assert "It rains." in sent

    def test_with_nobody_else_there_it_may_be_said_aloud(self) -> None:
        """That turn is then private as well: Mira, who comes back, learns nothing of it."""
        self.mira.location = self.room2
        assert SECRET in self.sent_for("say @Ada and of the crown?", says("It is under those."))
        self.mira.location = self.room1
        for person in (self.mira, self.tom):
            sent = self.sent_for("say @Ada what did you talk about?", says("This."), person)
            assert "stairs" not in sent
            assert "under those" not in sent
        sent = self.sent_for("whisper Ada = do not tell her", whispers("Hm."))
        assert "under those" in sent

    def test_another_assistant_hears_too(self) -> None:
        """Bob is no player, but he remembers what is said."""
        self.mira.location = self.room2
        self.make("Bob")
        assert SECRET not in self.sent_for("say @Ada and of the crown?", says("What crown?"))

    def test_on_a_channel_everybody_hears(self) -> None:
        """An empty room does not make a channel private."""
        self.mira.location = self.room2
        self.channel("Public", self.tom)
        assert SECRET not in self.sent_for("channel Public = @Ada hello", says("Hm."))
