"""The package's tools that speak and look, run as Ada under the game's locks."""

from typing import Any

from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.tools import REGISTRY
from evennia_ai.tools.registry import BUILT_IN
from tests.game.people import AttentivePerson
from tests.game.support import whispers
from tests.game.tools.tool_case import ToolTest


class TestSchemas(ToolTest):
    def test_the_built_in_tools_are_on_offer(self) -> None:
        expected = {
            "say": ("terminal", ["message"]),
            "whisper": ("terminal", ["target", "message"]),
            "page": ("terminal", ["target", "message"]),
            "channel": ("terminal", ["channel", "message"]),
            "emote": ("terminal", ["action"]),
            "look": ("safe_chain", []),
            "inspect_location": ("safe_chain", []),
            "exits": ("safe_chain", []),
            "who_is_here": ("safe_chain", []),
            "search_objects": ("safe_chain", ["query"]),
            "noop": ("safe_chain", []),
            "find_tools": ("safe_chain", ["query"]),
            "my_state": ("safe_chain", []),
            "propose_guideline": ("dangerous", []),
            "time": ("safe_chain", []),
            "write_note": ("safe_chain", ["text"]),
            "read_notes": ("safe_chain", []),
            "forget_note": ("safe_chain", ["number"]),
            "recall_memories": ("safe_chain", ["query"]),
            "store_memory": ("async_required", ["text"]),
            "add_journal_entry": ("safe_chain", ["text"]),
            "read_journal": ("safe_chain", []),
            "search_journal": ("safe_chain", ["words"]),
            "create_project": ("safe_chain", ["project_key", "summary"]),
            "list_projects": ("safe_chain", []),
            "swap_project": ("safe_chain", ["project_key", "current_project_update"]),
            "update_project": ("safe_chain", []),
            "go_to_sleep": ("terminal", ["reason"]),
            "move": ("dangerous", ["exit"]),
            "get": ("dangerous", ["item"]),
            "drop": ("dangerous", ["item"]),
            "give": ("dangerous", ["item", "target"]),
            "execute_command": ("dangerous", ["command"]),
            "set_attribute": ("dangerous", ["target", "name", "value"]),
        }
        ours = {
            name: (tool.spec.category.value, tool.spec.parameters["required"])
            for name, tool in REGISTRY.items()
            if tool.module in BUILT_IN and "goals" not in tool.module
        }
        assert expected == ours

    def test_every_argument_is_described(self) -> None:
        for name, tool in REGISTRY.items():
            with self.subTest(name):
                properties = tool.spec.parameters["properties"]
                assert not {"character", "turn"} & properties.keys()
                assert all(each.get("description") for each in properties.values())
                assert tool.spec.parameters["additionalProperties"] is False

    def test_only_what_stays_the_same_for_a_while_is_cached(self) -> None:
        cached = {
            name: (tool.spec.cache_scope, tool.spec.cache_ttl)
            for name, tool in REGISTRY.items()
            if tool.spec.cacheable and tool.module in BUILT_IN
        }
        assert {"inspect_location": ("tick", 60)} == cached


class Captain(AttentivePerson):
    """A character whose title stands before its name."""

    def get_display_name(self, looker: Any = None, **kwargs: Any) -> str:
        return f"|yCaptain|n {self.key}"


class TestSpeech(ToolTest):
    def test_each_does_what_it_says(self) -> None:
        assert "said" == self.told("say", message="Hello.")
        assert "whispered to Tom" == self.told("whisper", target="@TOM ", message="Psst.")
        assert "done" == self.told("emote", action="bows.")
        expected = ['Ada says, "Hello."', 'Ada whispers: "Psst."', "Ada bows."]
        assert expected == self.tom.heard_from(self.ada)

    def test_a_pose_begins_with_its_name_once(self) -> None:
        """By whichever name the model begins it: the key, or the name that others see."""
        _, vera = self.make("Vera", typeclass=Captain)
        for action in ("bows.", "Vera bows.", "captain vera bows."):
            outgoing.emote(vera, action, hops=0)
        assert ["Captain Vera bows."] * 3 == self.tom.heard_from(vera)

    def test_messages_carry_one_hop_more(self) -> None:
        self.told("say", message="Hello.")
        assert 2 == self.tom.messages[0].options["assistant_hops"]

    def test_what_cannot_be_done_is_said(self) -> None:
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
                assert expected == self.refusal("whisper", message="Hello.", **arguments)

    def test_a_page_reaches_who_is_online_by_either_name(self) -> None:
        for name in ("TestAccount", "tom"):
            assert "paged TestAccount" == self.told("page", target=name, message="Come home.")
        self.tom.key = "To\u0308m"
        assert "paged TestAccount" == self.told("page", target="T\u00f6m", message="Come home.")
        expected = "nobody named Mira is online"
        assert expected == self.refusal("page", target="Mira", message="Come home.")

    def test_a_page_respects_who_does_not_want_it(self) -> None:
        """The account's lock decides, and so does a ban on her."""
        self.account.locks.add("msg:false()")
        refused = "you are not allowed to page Tom"
        assert refused == self.refusal("page", target="Tom", message="Come home.")
        self.account.locks.add("msg:all()")
        self.ada.permissions.add("page_banned")
        assert refused == self.refusal("page", target="Tom", message="Come home.")


class TestLook(ToolTest):
    def test_the_room_and_what_is_in_it(self) -> None:
        self.room1.db.desc = "A |rred|n room."
        assert "A red room." in self.told("look")
        assert "A red room." in self.told("look", target="here")
        self.obj1.db.desc = "It glows."
        assert "It glows." in self.told("look", target="obj")
        for target in ("me", "Yourself"):
            assert self.told("look", target=target).startswith("Ada")

    def test_a_long_description_is_cut(self) -> None:
        """A builder's novel must not fill the context."""
        self.room1.db.desc = "Books. " * 2000
        assert 1500 >= len(self.told("look"))

    def test_what_is_hidden_is_not_seen(self) -> None:
        self.obj1.locks.add("view:false()")
        assert "Obj," not in self.refusal("look", target="Obj")

    def test_nothing_of_that_name(self) -> None:
        assert self.refusal("look", target="dragon").startswith("dragon is not here; here are: ")

    def test_a_look_is_followed_by_an_answer(self) -> None:
        self.room1.db.desc = "Lamplight pools on the tables."
        self.ask("whisper Ada = where are we?", completion(None, ("look", {})), whispers("Inside."))
        assert "Lamplight pools" in self.prompt(1)
        assert ['Ada whispers: "Inside."'] == self.tom.heard_from(self.ada)

    def test_from_inside_of_something(self) -> None:
        """She sees the bag that she is in and its carrier, but nothing hidden."""
        bag = self.make_thing("bag", location=self.tom)
        self.ada.location = bag
        assert "Tom" in self.told("look", target="tom")
        assert "here are: Tom" in self.refusal("look", target="Mira")
        self.tom.locks.add("view:false()")
        assert "Tom is not here" in self.refusal("look", target="Tom")


class TestGate(ToolTest):
    """The checks before every tool."""

    def test_a_lock_forbids_a_tool(self) -> None:
        self.ada.locks.add("tool_say:false()")
        refused = "you are not allowed to say"
        assert refused == self.refusal("say", message="Hello.")
        assert "whispered to Tom" == self.told("whisper", target="Tom", message="Hello.")

    def test_nothing_is_done_while_a_superuser_is_in_her_body(self) -> None:
        """A superuser passes every lock, and must not act by the words of a player."""
        self.ada.account = self.account
        self.account.is_superuser = True
        expected = "an assistant does not act while a superuser is in its body"
        assert expected == self.refusal("say", message="Hello.")

    def test_nothing_is_taken_while_staff_play_her_body(self) -> None:
        """Locks would check the rights of staff for what any player asks her to do."""
        self.account.permissions.add("Admin")
        self.obj1.locks.add("get:perm(Admin)")
        self.account.puppet_object(self.session, self.ada)
        assert self.obj1.access(self.ada, "get")
        expected = "you do not do that while a player is in your body"
        assert expected == self.refusal("get", item="Obj")
        assert "said" == self.told("say", message="Hello.")
        self.account.unpuppet_object(self.session)
        assert not self.obj1.access(self.ada, "get")

    def test_what_a_superuser_played_passes_no_lock_afterwards(self) -> None:
        """Evennia remembers for each body that all locks let it pass, also once it is left."""
        self.account.is_superuser = True
        self.account.puppet_object(self.session, self.ada)
        assert self.ada.access(self.ada, "tool_move")
        self.account.unpuppet_object(self.session)
        assert "you are not allowed to move" == self.refusal("move", exit="out")
        assert not self.ada.access(self.ada, "tool_move")

    def test_a_wrong_call_is_explained_and_may_be_made_again(self) -> None:
        wrong = completion(None, ("say", {"message": 3}))
        self.ask("whisper Ada = hello", wrong, whispers("Hello."))
        assert "say: message must be text, not 3" in str(self.model.bodies[1]["messages"])
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
