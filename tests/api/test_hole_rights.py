"""Rights over REST: quelling counts, each act has its own right, orders need both rights."""

from typing import Any

from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.runtime import state
from tests.api.support import ApiTest
from tests.game.people import Person
from tests.game.support import pump


class TestQuelled(ApiTest):
    def test_hole_b13_a_quelled_builder_who_is_offline_is_no_builder(self) -> None:
        """The last character's rights count while quelled; her own memories stay open to her."""
        berit = self.people["builder with control"]
        self.ada.locks.add("ai_control:perm(Builder)")
        body = create_object(Person, key="Berit", location=self.room1)
        body.permissions.add("Player")
        berit.attributes.add("_last_puppet", body)
        who = "builder with control"
        assert 200 == self.call("GET", "assistants/", who=who).status_code
        assert 200 == self.call("GET", "assistants/Ada/memory/", who=who).status_code
        berit.attributes.add("_quell", True)
        for method, path in (
            ("GET", "assistants/"),
            ("GET", "assistants/Ada/memory/"),
            ("GET", "lore/"),
            ("POST", "assistants/Ada/sleep/"),
        ):
            self.fault(403, method, path, {} if method == "POST" else None, who=who)
        assert 200 == self.call("GET", "assistants/Ada/me/memory/", who=who).status_code
        berit.attributes.remove("_quell")
        assert 200 == self.call("GET", "assistants/", who=who).status_code

    def test_hole_b13_a_quelled_superuser_who_is_offline_is_none(self) -> None:
        """Without any character, a quelled account has the lowest rights."""
        self.account.unpuppet_object(self.session)
        self.account.attributes.remove("_last_puppet")
        self.account.attributes.add("_quell", True)
        self.fault(403, "GET", "assistants/")
        self.fault(403, "PATCH", "assistants/Ada/configuration/", {"command_allowlist": ["dig"]})
        self.account.attributes.remove("_quell")
        assert 200 == self.call("GET", "assistants/").status_code


class TestActs(ApiTest):
    """Ada's lock `ai_control` passes Pia, a player, and all builders."""

    def setUp(self) -> None:
        super().setUp()
        self.pia = self.people["player"]
        self.ada.locks.add(f"ai_control:perm(Builder) or pid({self.pia.id})")

    def test_hole_b11_a_player_in_control_deletes_no_memories_and_moves_nobody(self) -> None:
        """Control alone lets her stop and configure Ada; deleting memories needs `ai_memory`."""
        result: Any = operations.add_memory(self.ada_script, "Mira loves whales.", by="Tom")
        pump()
        path = "assistants/Ada/memory/"
        (row,) = self.get(path)["memories"]
        assert result.ok
        self.fault(403, "DELETE", f"{path}{row['key']}/", who="player")
        self.fault(403, "PATCH", f"{path}{row['key']}/", {"text": "Mira hates."}, who="player")
        self.fault(403, "DELETE", "assistants/Ada/history/", who="player")
        self.fault(403, "DELETE", "assistants/Ada/", who="player")
        there = {"location": self.room2.dbref}
        self.fault(403, "PATCH", "assistants/Ada/", there, who="player")
        assert (self.room1, 1) == (self.ada.location, self.get(path)["count"])
        changes = {"tick_rate": 9}
        config = "assistants/Ada/configuration/"
        assert 200 == self.call("PATCH", config, changes, who="player").status_code
        assert 200 == self.call("POST", "assistants/Ada/stop/", who="player").status_code
        self.ada.locks.add(f"ai_memory:pid({self.pia.id})")
        assert 200 == self.call("DELETE", f"{path}{row['key']}/", who="player").status_code

    def test_hole_b11_a_room_that_refuses_her_is_not_entered(self) -> None:
        """The room's lock `teleport_here` must pass the assistant and the person who moves her."""
        there, who = {"location": self.room2.dbref}, "builder"
        for lock in (f"not id({self.ada.id})", "perm(Admin)"):
            self.room2.locks.add(f"teleport_here:{lock}")
            self.fault(403, "PATCH", "assistants/Ada/", there, who=who)
            assert self.room1 == self.ada.location
        self.room2.locks.remove("teleport_here")
        assert 200 == self.call("PATCH", "assistants/Ada/", there, who=who).status_code
        assert self.room2 == self.ada.location

    def test_hole_b10_a_builder_boots_nobody_by_her_hand(self) -> None:
        """Running her tools gives nobody commands that they may not type themselves."""
        self.ada.permissions.add("Admin")
        state.write(self.ada_script, command_allowlist=["boot"])
        path = "assistants/Ada/tools/execute_command/execute/"
        body = {"arguments": {"command": "boot Tom"}}
        error = self.fault(403, "POST", path, body, who="builder")
        assert "no more than Bo may" in error["message"]
        assert 200 == self.call("POST", path, body, who="admin").status_code

    def test_hole_b10_a_copy_has_no_powers(self) -> None:
        """A copy keeps an allowlist only if an owner of the game made it."""
        state.write(self.ada_script, command_allowlist=["boot"])
        for who, key, expected in (("builder", "Edda", []), ("admin", "Brass", ["boot"])):
            response = self.call("POST", "assistants/Ada/clone/", {"key": key}, who=who)
            assert 201 == response.status_code
            copy = operations.find_assistant(key)
            assert expected == list(state.read(copy, "command_allowlist"))
