"""The conversation as people read it."""

from typing import Any

from evennia_ai.core.turn.compaction import summary_message
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import incoming
from evennia_ai.operations.conversation import talk as conversation
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.runtime import state
from tests.game.support import GameTest, says, whispers


class TestHistory(GameTest):
    def talk(self) -> None:
        self.ask("say @ada good evening", says("Good evening."))
        self.ask("whisper Ada = where?", whispers("Upstairs.", "Mira"), person=self.mira)

    def rows(self, **page: Any) -> list[dict[str, Any]]:
        page = {"look": PrivateView(is_revealing=True)} | page
        return list(conversation.show_history(self.ada_script, **page).data["messages"])

    def test_it_reads_as_it_was(self) -> None:
        self.talk()
        rows = self.rows()
        assert [1, 2, 3, 4, 5, 6] == [row["number"] for row in rows]
        roles = ["user", "assistant", "tool"]
        assert roles * 2 == [row["role"] for row in rows]
        assert ["Tom", "Ada", "say", "Mira", "Ada", "whisper"] == [row["name"] for row in rows]
        assert 'Tom says to you (trust 0.7): "good evening"' == rows[0]["text"]
        assert 'says: "Good evening."' == rows[1]["text"]
        assert 'whispers to Mira: "Upstairs."' == rows[4]["text"]
        mira = incoming.person_of(self.mira)
        assert [None] * 3 + [mira] * 3 == [row["private_to"] for row in rows]
        look = PrivateView.of(self.mira)
        lines = conversation.show_history(self.ada_script, look=look).message.splitlines()
        assert "Ada's conversation, 1 to 6 of 6:" == lines[0]
        assert '   2  Ada says: "Good evening."' == lines[2]
        assert '   5  Ada whispers to Mira: "Upstairs."   (private to TestAccount2)' == lines[5]
        assert lines[3].startswith("   3  say gave: {")
        assert 7 == len(lines)

    def test_what_is_private_to_somebody_else_is_as_long_as_it_is(self) -> None:
        """Only the length of private words is shown, and a hint at how to see them."""
        self.talk()
        rows = self.rows()
        for look in (None, PrivateView.of(self.tom)):
            shown = self.rows(look=look)
            masked = [{**row, "text": f"({len(row['text'])} characters)"} for row in rows[3:]]
            assert [*rows[:3], *masked] == shown
        text = conversation.show_history(self.ada_script).message
        assert "   5  Ada (29 characters)   (private to TestAccount2)" in text.splitlines()
        assert [False, True] == [words in text for words in ("Upstairs", "(3 private words are")]

    def test_pages_lead_to_the_oldest(self) -> None:
        self.talk()
        pages, before = [], None
        while True:
            data = conversation.show_history(self.ada_script, before=before, limit=4).data
            pages.append([row["number"] for row in data["messages"]])
            assert 6 == data["count"]
            if (before := data["next"]) is None:
                break
        assert [[3, 4, 5, 6], [1, 2]] == pages
        assert [1, 2] == [row["number"] for row in self.rows(before=3)]
        assert 6 == len(self.rows(before=100))

    def test_nothing_was_said_yet(self) -> None:
        result = conversation.show_history(self.ada_script)
        assert "Ada has no conversation yet." == result.message
        assert {"messages": [], "count": 0, "next": None} == result.data

    def test_a_wrong_page_is_refused(self) -> None:
        for page, expected in (
            ({"limit": 0}, "0 messages cannot be shown at once; ask for 1 to 200."),
            ({"limit": 201}, "201 messages cannot be shown at once; ask for 1 to 200."),
            ({"before": 0}, "0 is not the number of a message; they begin at 1."),
        ):
            assert expected == conversation.show_history(self.ada_script, **page).message

    def test_all_kinds_of_messages(self) -> None:
        """Summaries, other tools, words without a call, odd arguments and very long texts."""
        function = {"name": "look", "arguments": '{"at": "lamp"}'}
        broken = {"name": "say", "arguments": "{"}
        history = [
            summary_message("Tom came by."),
            {"role": "user", "content": 'Somebody called "x: y" says to you: "z"'},
            {"role": "user", "content": ""},
            {
                "role": "assistant",
                "content": "Well.",
                "tool_calls": [
                    {"id": "1", "type": "function", "function": function},
                    {"id": "2", "type": "function", "function": broken},
                ],
            },
            {"role": "tool", "tool_call_id": "9", "content": "x" * 600},
            {"role": "user", "content": "Mira pages you: " + "y" * 3000, "private_to": "#99999"},
            {"role": "user", "content": 'Meanwhile:\n- a\n\nMira says on the channel Pub: "z"'},
        ]
        self.ada_script.work.history = history
        rows = self.rows()
        assert "(summary of earlier talk) Tom came by." == rows[0]["text"]
        assert ["", "", ""] == [row["name"] for row in rows[:3]]
        assert 'says: "Well."; uses look {"at": "lamp"}; uses say {' == rows[3]["text"]
        assert ("tool", 500) == (rows[4]["name"], len(rows[4]["text"]))
        assert ("Mira", 2000) == (rows[5]["name"], len(rows[5]["text"]))
        assert "Mira" == rows[6]["name"]
        (masked,) = [row for row in self.rows(look=None) if row["private_to"]]
        assert {**rows[5], "text": "(2,000 characters)"} == masked
        text = conversation.show_history(self.ada_script).message
        assert "(private to someone who is gone)" in text
        assert '\n      - a\n      \n      Mira says on the channel Pub: "z"' in text

    def test_it_is_given_out_as_it_is_kept(self) -> None:
        """This holds also of an assistant that does not run; changing the copy changes nothing."""
        self.talk()
        history = state.read(self.ada_script, "conversation_history")
        result = self.export(is_revealing=True)
        assert (history, "Ada: 6 messages.") == (result.data["messages"], result.message)
        result.data["messages"][0]["content"] = "x"
        assert history == self.export(is_revealing=True).data["messages"]
        work, self.ada_script.work = self.ada_script.work, None
        try:
            assert history == self.export(is_revealing=True).data["messages"]
            assert 6 == conversation.show_history(self.ada_script).data["count"]
        finally:
            self.ada_script.work = work

    def test_of_what_is_private_no_words_are_given_out(self) -> None:
        self.talk()
        history = state.read(self.ada_script, "conversation_history")
        result = self.export(is_revealing=False)
        given = result.data["messages"]
        assert "Ada: 6 messages." == result.message
        assert history[:3] == given[:3]
        assert [message["role"] for message in history] == [message["role"] for message in given]
        call = given[4]["tool_calls"][0]
        assert history[4]["tool_calls"][0]["id"] == call["id"]
        assert {"name": "whisper", "arguments": "{}"} == call["function"]
        lengths = [f"({len(history[at]['content'])} characters)" for at in (3, 5)]
        assert lengths == [given[at]["content"] for at in (3, 5)]
        assert "Upstairs" not in str(given)
        assert history == self.export(is_revealing=True).data["messages"]

    def export(self, *, is_revealing: bool) -> Result:
        return conversation.export_history(
            self.ada_script, look=PrivateView.of(self.tom, is_revealing=is_revealing)
        )

    def test_a_gesture_is_told(self) -> None:
        self.ask("say @ada nod", completion(None, ("emote", {"action": "nods."})))
        assert 'does: "nods."' == self.rows()[1]["text"]
