"""`assistant undo` and `assistant redo`: the edits that people made, taken back one by one."""

from typing import Any

from evennia.objects.objects import DefaultObject
from evennia.utils.create import create_channel, create_object

from evennia_ai import audit, operations
from evennia_ai.operations.assistants import looks
from evennia_ai.operations.audit import undoing
from evennia_ai.operations.audit.edits import MOST_READ, read_edits
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.settings import changing
from evennia_ai.runtime import state
from tests.game.commands.test_commands_life import LifeTest

PERSONA = "Ada is the keeper of the Lantern Library and likes "


class UndoTest(LifeTest):
    """Tom edits Ada, and thinks better of it."""

    def has(self, name: str) -> Any:
        return state.read(self.ada_script, name)

    def newest(self) -> int:
        """The number of the edit that would be undone next."""
        return read_edits(self.ada_script).made[0].number


class TestUndo(UndoTest):
    def test_the_newest_first_and_then_the_one_before(self) -> None:
        """A setting that was not set before is unset again."""
        for line in ("set tick_rate 10", "set tick_rate 20", "set persona Ada is grim."):
            self.assistant(f"config ada {line}")
        assert "Ada: persona: Ada is grim. -> none" in self.assistant("undo ada")
        assert "Ada: tick_rate: 20 -> 10" in self.assistant("undo ada")
        assert (10, "") == (self.has("tick_rate"), self.has("persona"))
        assert "Ada: tick_rate: 10 -> 5" in self.assistant("undo ada")
        assert not self.ada_script.attributes.get("tick_rate")
        assert "Ada: its audit log has no edits to undo" in self.assistant("undo ada")

    def test_of_a_container_the_keys_that_change_are_shown(self) -> None:
        for line in ("calls_per_reply 2", "sub_agent_budget 3", "calls_per_reply 4"):
            self.assistant(f"config ada set execution_config.{line}")
        assert "Ada: execution_config.calls_per_reply: 4 -> 2\n" in self.assistant("undo ada")
        assert "Ada: execution_config.sub_agent_budget: 3 -> none\n" in self.assistant("undo ada")
        assert "Ada: execution_config.calls_per_reply: 2 -> none\n" in self.assistant("undo ada")

    def test_what_was_taken_back_is_made_again(self) -> None:
        for line in ("set tick_rate 10", "set max_history 30"):
            self.assistant(f"config ada {line}")
        self.assistant("undo ada")
        self.assistant("undo ada")
        assert "Ada: tick_rate: 5 -> 10" in self.assistant("redo ada")
        assert "Ada: max_history: 50 -> 30" in self.assistant("redo ada")
        assert (10, 30) == (self.has("tick_rate"), self.has("max_history"))
        assert "nothing was undone" in self.assistant("redo ada")
        assert "Ada: max_history: 30 -> 50" in self.assistant("undo ada")

    def test_whoever_edits_anew_has_decided_otherwise(self) -> None:
        """A redo must not overwrite a newer edit."""
        self.assistant("config ada set tick_rate 10")
        self.assistant("undo ada")
        self.assistant("config ada set max_history 30")
        assert "something else was changed since" in self.assistant("redo ada")
        assert 5 == self.has("tick_rate")

    def test_what_was_set_together_goes_back_together(self) -> None:
        changes = {"tick_rate": 9, "max_history": 30, "persona": "Ada hums."}
        changing.update_settings(self.ada_script, changes, by="Tom")
        assert 1 == len(read_edits(self.ada_script).made)
        shown = self.assistant("undo ada")
        for line in ("tick_rate: 9 -> 5", "max_history: 30 -> 50", "persona: Ada hums. -> none"):
            assert line in shown
        assert (5, 50, "") == tuple(map(self.has, changes))
        self.assistant("redo ada")
        assert (9, 30, "Ada hums.") == tuple(map(self.has, changes))

    def test_prompts_templates_and_tools(self) -> None:
        """JSON turns keys that are numbers into text; they have to become numbers again."""
        lines = (
            "component ada set 250 town = Port: a harbour.",
            "template ada set stern = You are stern. {persona}",
            "context ada tick_event set tool_filter say,whisper",
            "component ada set 250 town = Port: a ruin.",
        )
        states = [self.snapshot()]
        for line in lines:
            self.assistant(line)
            states.append(self.snapshot())
        assert len({str(each) for each in states}) == len(states)
        for before in reversed(states[:-1]):
            self.assistant("undo ada")
            assert before == self.snapshot()
        for after in states[1:]:
            self.assistant("redo ada")
            assert after == self.snapshot()

    def snapshot(self) -> list[Any]:
        return [self.has(n) for n in ("prompt_components", "prompt_templates", "context_configs")]

    def test_her_look_too(self) -> None:
        before = self.ada.db.desc
        looks.update_assistant(
            self.ada_script, desc="Grey.", aliases=["keeper"], location=self.room2, by="Tom"
        )
        shown = self.assistant("undo ada")
        assert "desc: " in shown
        assert "aliases: keeper -> none" in shown
        assert (before, [], self.room1) == (
            self.ada.db.desc,
            self.ada.aliases.all(),
            self.ada.location,
        )
        self.assistant("redo ada")
        assert ("Grey.", ["keeper"], self.room2) == (
            self.ada.db.desc,
            self.ada.aliases.all(),
            self.ada.location,
        )

    def test_what_is_as_it_was_is_no_edit(self) -> None:
        for persona in ("", "Ada hums.", "Ada hums."):
            looks.update_assistant(self.ada_script, persona=persona, by="Tom")
        assert 1 == len(read_edits(self.ada_script).made)

    def test_a_home_elsewhere_is_its_home_again(self) -> None:
        """A move makes the new room its home, also where it stands in that room already."""
        attic, self.ada.home = create_object(self.room2.__class__, key="Attic"), self.room2
        for place in (attic, self.room1):
            looks.update_assistant(self.ada_script, location=place, by="Tom")
            assert place == self.ada.home
            if place is attic:
                assert "home: " in self.assistant("undo ada")
                assert (self.room1, self.room2) == (self.ada.location, self.ada.home)
        self.assistant("undo ada")
        assert (self.room1, self.room2) == (self.ada.location, self.ada.home)
        self.assistant("redo ada")
        assert (self.room1, self.room1) == (self.ada.location, self.ada.home)

    def test_a_description_goes_back_as_it_was(self) -> None:
        """Also none, as many beings of a game have it, and one that the game wrote with a break."""
        for before in (None, "Old and grey.\n"):
            self.ada.db.desc = before
            looks.update_assistant(self.ada_script, desc="Grey.", by="Tom")
            self.assistant("undo ada")
            assert (before or "") == self.ada.db.desc
            assert "Edit" in self.assistant("redo ada")
            assert "Grey." == self.ada.db.desc

    def test_aliases_that_evennia_makes_are_nobodys_edit(self) -> None:
        """Evennia gives a thing that somebody looks at names such as "two mirrors"."""
        mirror = create_object(DefaultObject, key="mirror", location=self.room1)
        self.assistant("adopt mirror")
        script: Any = operations.find_assistant("mirror")
        looks.update_assistant(script, aliases=["glass"], by="Tom")
        self.type(self.mira, "look")
        assert 1 < len(mirror.aliases.all())
        assert "aliases: glass -> none" in self.assistant("undo mirror")
        assert [] == looks.describe(script).data.aliases

    def test_one_of_the_list_by_its_number(self) -> None:
        """Long texts are shown from where they differ."""
        self.assistant("config ada set tick_rate 10")
        number = self.newest()
        self.assistant(f"config ada set persona {PERSONA}tea.")
        self.assistant(f"config ada set persona {PERSONA}rum.")
        shown = self.assistant("undo ada list")
        assert f"{number:>6}  " in shown
        assert "Tom: tick_rate: 5 -> 10" in shown
        assert "rary and likes tea. -> …" in shown
        assert "Ada: tick_rate: 10 -> 5" in self.assistant(f"undo ada {number}")
        assert f"{PERSONA}rum." == self.has("persona")
        assert f"edit {number} is already undone" in self.assistant(f"undo ada {number}")
        assert "Undone; to redo the newest" in self.assistant("undo ada list")
        assert "Ada has no edit 9999" in self.assistant("undo ada 9999")

    def test_it_outlives_a_reload(self) -> None:
        """The record has the complete text."""
        self.assistant("config ada set tick_rate 10")
        self.ada_script.at_server_shutdown()
        audit.flush()
        audit.start_anew()
        self.ada_script.at_start()
        assert "Ada: tick_rate: 10 -> 5" in self.assistant("undo ada")

    def test_it_is_on_record_itself(self) -> None:
        self.assistant("config ada set tick_rate 10")
        number = self.newest()
        self.assistant("undo ada")
        audit.flush()
        entry = audit.application().page("Ada", limit=1, events=("edit_undone",))[0]
        assert f"the edit at version {number} was undone: tick_rate" == entry.text
        assert ("Tom", "game") == (entry.details["by"], entry.details["via"])
        assert operations.check_audit(self.ada_script).data == []

    def test_wrong_use_says_how_it_is_used(self) -> None:
        shown = self.assistant("undo ada soon")
        assert "soon is neither the number of an edit nor 'list'." in shown
        assert "Usage: assistant undo [<name>]" in shown


class TestRefused(UndoTest):
    def test_what_was_changed_again_since(self) -> None:
        """Another edit or code made the change, which must not be lost."""
        self.assistant("config ada set tick_rate 10")
        number = self.newest()
        self.assistant("config ada set tick_rate 20")
        shown = self.assistant(f"undo ada {number}")
        assert f"tick_rate was changed again since edit {number}" in shown
        self.ada_script.db.tick_rate = 30
        assert "nothing is changed" in self.assistant("undo ada")
        assert 30 == self.has("tick_rate")

    def test_an_act_that_is_no_edit_stands_in_the_way(self) -> None:
        """An undo that was meant for a stop must not undo an edit, which can still be named."""
        self.assistant("config ada set tick_rate 10")
        number = self.newest()
        self.assistant("emergency stop ada")
        shown = self.assistant("undo ada")
        assert "The last that Tom did to Ada cannot be undone: it was stopped." in shown
        assert f"assistant undo Ada {number} (tick_rate: 5 -> 10)" in shown
        self.assistant("emergency clear ada")
        assert "a stop was cleared" in self.assistant("undo ada")
        assert 10 == self.has("tick_rate")
        self.assistant(f"undo ada {number}")
        assert 5 == self.has("tick_rate")

    def test_what_the_record_has_not_whole(self) -> None:
        """The record masks a secret, and has only a fingerprint of a very long text."""
        for text in ("The key is sk-abcdefghijklmnop.", "a" * 30_000):
            state.write(self.ada_script, persona=text)
            with self.subTest(text[:20]):
                self.assistant("config ada set persona Ada hums.")
                shown = self.assistant("undo ada")
                assert "the audit log does not have all of persona" in shown
                assert "Ada hums." == self.has("persona")

    def test_which_channels_she_listens_to(self) -> None:
        """A subscription is more than a setting; only the mode there can be undone."""
        channel = self.channel_named("Public")
        self.assistant("channel ada public = context")
        assert "assistant channel Ada <channel> = trigger" in self.assistant("undo ada")
        assert channel.subscriptions.has(self.ada)
        self.assistant("channel ada public = trigger")
        self.assistant("undo ada")
        assert {"Public": "context"} == dict(self.has("channel_configs"))

    def channel_named(self, key: str) -> Any:
        return create_channel(key, locks="listen:all();send:all()")

    def test_what_nobody_did(self) -> None:
        """Changes by code, or by the assistant herself, are no edits."""
        state.write(self.ada_script, tick_rate=10)
        assert () == read_edits(self.ada_script).made
        assert "its audit log has no edits to undo" in self.assistant("undo ada list")

    def test_what_a_setting_no_longer_takes(self) -> None:
        """The old value is checked as any new one is."""
        state.write(self.ada_script, tick_rate=0)
        self.assistant("config ada set tick_rate 10")
        shown = self.assistant("undo ada")
        assert "Ada: nothing is changed: " in shown
        assert 10 == self.has("tick_rate")

    def test_there_is_an_end_to_what_is_read(self) -> None:
        for number in range(MOST_READ + 10):
            state.write(self.ada_script, tick_rate=10 + number % 2)
        with audit.acting("Tom"):
            for number in range(MOST_READ + 10):
                state.write(self.ada_script, max_history=30 + number % 2)
        assert MOST_READ == len(read_edits(self.ada_script).made)


class TestRights(UndoTest):
    """An undo needs the right that the edit needed."""

    def test_powers_are_an_owners(self) -> None:
        """Mira may configure Ada, but only an owner grants or undoes powers."""
        self.assistant("config ada set command_allowlist look")
        edit = undoing.find_undo(self.ada_script).data
        assert ["configure powers"] == undoing.acts_of(edit)
        self.mira.permissions.add("Builder")
        self.ada.locks.add(f"ai_control:id({self.mira.id})")
        shown = self.assistant("undo ada", caller=self.mira)
        assert "configure powers needs" in shown
        assert ["look"] == list(self.has("command_allowlist"))
        self.ada.locks.add("ai_control:all()")
        self.assistant("undo ada")
        assert [] == list(self.has("command_allowlist"))

    def test_places_need_what_moving_needs(self) -> None:
        """Silence needs the right to start and stop."""
        looks.update_assistant(self.ada_script, location=self.room2, by="Tom")
        assert ["move"] == undoing.acts_of(undoing.find_undo(self.ada_script).data)
        self.assistant("stop ada")
        assert ["start"] == undoing.acts_of(undoing.find_undo(self.ada_script).data)
        self.assistant("undo ada")
        assert self.has("enabled")

    def test_a_player_may_not(self) -> None:
        self.assistant("config ada set tick_rate 10")
        for line in ("undo ada", "undo ada list", "redo ada"):
            assert "is for staff" in self.assistant(line, caller=self.mira)
        assert 10 == self.has("tick_rate")

    def test_a_program_is_told_what_is_wrong(self) -> None:
        refused = undoing.find_undo(self.ada_script)
        assert ProblemKind.CONFLICT == refused.problem
