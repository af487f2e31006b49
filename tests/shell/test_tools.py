"""The tools we ship, run as Ada under the game's locks."""

from __future__ import annotations

from typing import Any

from evennia_ai.core.inbox import Event
from evennia_ai.core.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn import Turn
from evennia_ai.tool_execution import execute_tool_call
from evennia_ai.tools import REGISTRY
from evennia_ai.tools.registry import BUILT_IN
from tests.llm.doubles import completion
from tests.shell.support import ShellTest, whispers

EVENT = Event("e1", "message", "whisper", "#1", "Tom", "hello", 0.9, 3, 1, 0.0)


class ToolTest(ShellTest):
    """Runs one tool by hand."""

    def run_tool(self, name: str, **arguments: Any) -> ToolResult:
        """What came of a call under the same gate as the model's."""
        results: list[ToolResult] = []
        call = ToolCall("c1", name, arguments)
        execute_tool_call(self.ada, call, Turn(0, (EVENT,)), self.clock).addCallback(results.append)
        return results[0]


class TestSchemas(ToolTest):
    """What the model is offered."""

    def test_the_built_in_tools_are_on_offer(self) -> None:
        """Each with its required arguments, made from its signature."""
        expected = {
            "say": ["message"],
            "whisper": ["target", "message"],
            "page": ["target", "message"],
            "channel": ["channel", "message"],
            "emote": ["action"],
            "look": [],
            "noop": [],
        }
        ours = {
            name: tool for name, tool in REGISTRY.items() if tool.function.__module__ in BUILT_IN
        }
        assert expected == {name: tool.spec.parameters["required"] for name, tool in ours.items()}

    def test_every_argument_is_described(self) -> None:
        """The model reads what each is for, and is shown nothing of how it is run."""
        for name, tool in REGISTRY.items():
            with self.subTest(name):
                properties = tool.spec.parameters["properties"]
                assert not {"character", "turn"} & properties.keys()
                assert all(each.get("description") for each in properties.values())
                assert tool.spec.parameters["additionalProperties"] is False


class TestSpeech(ToolTest):
    """Tools that are heard."""

    def test_each_does_what_it_says(self) -> None:
        """The result tells the model, the message tells the people."""
        assert ToolResult(True, "said") == self.run_tool("say", message="Hello.")
        assert ToolResult(True, "whispered to Tom") == self.run_tool(
            "whisper", target="@TOM ", message="Psst."
        )
        assert ToolResult(True, "done") == self.run_tool("emote", action="bows.")
        expected = ['Ada says, "Hello."', 'Ada whispers: "Psst."', "Ada bows."]
        assert expected == self.tom.heard_from(self.ada)

    def test_messages_carry_one_hop_more(self) -> None:
        """What answers the first hop is the second."""
        self.run_tool("say", message="Hello.")
        assert 2 == self.tom.messages[0].options["assistant_hops"]

    def test_what_cannot_be_done_is_said(self) -> None:
        """To herself, to nobody, to nothing."""
        here = "here are: out, Obj, Obj2, Tom, Mira"
        for arguments, expected in (
            (
                {"target": "Ada"},
                "you cannot whisper to yourself; name the person you want to answer",
            ),
            ({"target": "Nobody"}, f"Nobody is not here; {here}"),
            ({"target": ""}, f" is not here; {here}"),
        ):
            with self.subTest(arguments=arguments):
                result = self.run_tool("whisper", message="Hello.", **arguments)
                assert ToolResult(False, expected) == result

    def test_a_page_reaches_who_is_online_by_either_name(self) -> None:
        """The account's name or the character's; nobody else."""
        for name in ("TestAccount", "tom"):
            assert ToolResult(True, "paged TestAccount") == self.run_tool(
                "page", target=name, message="Come home."
            )
        expected = ToolResult(False, "nobody named Mira is online")
        assert expected == self.run_tool("page", target="Mira", message="Come home.")

    def test_a_page_respects_who_does_not_want_it(self) -> None:
        """The account's own lock decides, and a ban on her."""
        self.account.locks.add("msg:false()")
        refused = ToolResult(False, "you are not allowed to page Tom")
        assert refused == self.run_tool("page", target="Tom", message="Come home.")
        self.account.locks.add("msg:all()")
        self.ada.permissions.add("page_banned")
        assert refused == self.run_tool("page", target="Tom", message="Come home.")


class TestLook(ToolTest):
    """Looking around."""

    def test_the_room_and_what_is_in_it(self) -> None:
        """Text without markup, of the room or of one thing."""
        self.room1.db.desc = "A |rred|n room."
        assert "A red room." in self.run_tool("look").text
        assert "A red room." in self.run_tool("look", target="here").text
        self.obj1.db.desc = "It glows."
        assert "It glows." in self.run_tool("look", target="obj").text

    def test_a_long_description_is_cut(self) -> None:
        """A builder's novel does not fill the context."""
        self.room1.db.desc = "Books. " * 2000
        assert 1500 >= len(self.run_tool("look").text)

    def test_what_is_hidden_is_not_seen(self) -> None:
        """Neither looked at nor named among what is here."""
        self.obj1.locks.add("view:false()")
        result = self.run_tool("look", target="Obj")
        assert not result.success
        assert "Obj," not in result.text

    def test_nothing_of_that_name(self) -> None:
        """The model reads what is here."""
        assert self.run_tool("look", target="dragon").text.startswith(
            "dragon is not here; here are: "
        )

    def test_a_look_is_followed_by_an_answer(self) -> None:
        """It does not end the turn, and what was seen is in the next question."""
        self.room1.db.desc = "Lamplight pools on the tables."
        self.ask("whisper Ada = where are we?", completion(None, ("look", {})), whispers("Inside."))
        assert "Lamplight pools" in self.model.bodies[1]["messages"][-1]["content"]
        assert ['Ada whispers: "Inside."'] == self.tom.heard_from(self.ada)


class TestGate(ToolTest):
    """What stands before every tool."""

    def test_a_lock_forbids_a_tool(self) -> None:
        """`tool_say:false()` on the body, and say is refused while whisper goes on."""
        self.ada.locks.add("tool_say:false()")
        refused = ToolResult(False, "you are not allowed to say")
        assert refused == self.run_tool("say", message="Hello.")
        assert self.run_tool("whisper", target="Tom", message="Hello.").success

    def test_wrong_calls_are_explained(self) -> None:
        """Unknown tools, missing, unknown and wrongly typed arguments."""
        for name, arguments, expected in (
            ("say", {}, "say needs message"),
            ("say", {"message": 3}, "say: message must be of type string, not int"),
            ("say", {"message": "x", "turn": 1}, "say has no argument turn; it takes message"),
            (
                "say",
                {"message": "x", "character": 1},
                "say has no argument character; it takes message",
            ),
        ):
            with self.subTest(arguments=arguments):
                assert ToolResult(False, expected) == self.run_tool(name, **arguments)
        assert self.run_tool("fly").text.startswith("there is no tool 'fly'; there are ")

    def test_the_second_call_of_an_answer_is_not_run(self) -> None:
        """One action at a time, and the model is told."""
        both = completion(None, ("look", {}), ("say", {"message": "Both."}))
        self.ask("whisper Ada = hello", both, whispers("Hello."))
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        assert "other calls not done: one action at a time" in str(self.model.bodies[1]["messages"])
