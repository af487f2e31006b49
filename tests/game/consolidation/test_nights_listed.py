"""The list of the last nights that staff read: the facts of each and their sources."""

from evennia_ai import consolidation
from evennia_ai.core.hearing.audience import masked
from evennia_ai.memory_store import rows
from evennia_ai.operations.memory import upkeep
from evennia_ai.operations.memory.nights import Night, list_nights
from evennia_ai.operations.rights.private_words import PrivateView
from tests.game.consolidation.sleep_case import NightCase


class TestNights(NightCase):
    def listed(self, **options: object) -> list[Night]:
        return list_nights(self.ada_script, **options).data  # type: ignore[arg-type]

    def test_each_with_what_it_made_of_what(self) -> None:
        """The newest comes first."""
        assert [] == self.listed()
        first = [self.note(f"Tom said: boat {i} lies in the harbour.") for i in range(3)]
        self.sleep_through()
        consolidation.wake_up(self.ada_script, "a test")
        self.clock.advance(86_400)
        second = self.note("Tom said: the lamp is broken.")
        self.sleep_through()
        nights = self.listed()
        assert 2 == len(nights)
        drawn = [[[row["key"] for row in of] for _, of in night.made] for night in nights]
        assert [[[second]], [[key] for key in first]] == drawn
        assert ["fact"] == [memory["kind"] for memory, _ in nights[0].made]
        assert all(night.began <= night.ended for night in nights)
        assert "3 facts" in nights[1].summary

    def night_line(self) -> str:
        return upkeep.memory_status(self.ada_script).message.splitlines()[-1]

    def test_the_last_one_is_told_in_words(self) -> None:
        """A sleep that was broken off is no completed night."""
        consolidation.put_to_sleep(self.ada_script, "a test")
        assert self.night_line() == "  night      none completed yet; now asleep"
        consolidation.wake_up(self.ada_script, "a test")
        assert "No night has been completed yet." in upkeep.sleep_status(self.ada_script).message
        self.note("Tom said: the lamp is broken.")
        self.sleep_through()
        night = "1970-01-01 00:00 UTC: 1 entry scored, "
        assert f"The last night ended {night}" in upkeep.sleep_status(self.ada_script).message

    def test_what_is_gone_is_counted(self) -> None:
        """Facts that were forgotten since are counted without their words."""
        self.note("Tom said: boat 1 lies in the harbour.")
        self.sleep_through()
        rows.remove(self.ada_script.pk, [fact.key for fact in self.stored("fact")])
        (night,) = self.listed()
        assert ([], 1) == (night.made, night.gone)

    def test_private_words_are_masked(self) -> None:
        """Both the facts and their sources are masked until they are revealed."""
        text = "Tom said: boat 9 is stolen."
        self.note(text, owner="Tom")
        self.sleep_through()
        (night,) = self.listed()
        ((memory, sources),) = night.made
        assert [masked(text)] == [source["text"] for source in sources]
        assert "stolen" not in memory["text"]
        (night,) = self.listed(look=PrivateView("", is_revealing=True, by="Tom"))
        ((memory, sources),) = night.made
        assert [text] == [source["text"] for source in sources]
        assert "stolen" in memory["text"]
