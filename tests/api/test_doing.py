"""Changes over the API take effect in the game."""

from django.test.utils import override_settings
from evennia.objects.objects import DefaultObject
from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.core.text.plain_data import LONGEST_VALUE
from evennia_ai.llm.scripted import completion
from evennia_ai.messages.incoming import person_of
from evennia_ai.runtime import state
from tests.api.support import ApiTest
from tests.game.game_npcs import Guard
from tests.game.support import says, whispers

GET = completion(None, ("get", {"item": "lamp"}))


class TestQuestions(ApiTest):
    """Ada wants to take a lamp and needs a confirmation by Tom, who asked for it."""

    def setUp(self) -> None:
        super().setUp()
        self.lamp = create_object(DefaultObject, key="lamp", location=self.room1)
        contexts = {"tick_event": {"dangerous_requires_confirm": True}}
        state.write(self.ada_script, context_configs=contexts)
        self.ask("whisper Ada = take the lamp", GET, whispers("May I?"))

    def test_a_yes_does_it(self) -> None:
        (question,) = self.get("questions/")["questions"]
        assert ("Ada", "may I do this: get") == (question["assistant"], question["prompt"][:18])
        assert question["detail"].startswith("yes: it is done at once, this once; no, or no answer")
        assert {"yes", "no"} == {choice["id"] for choice in question["choices"]}
        assert [question] == self.get("assistants/Ada/questions/")["questions"]
        path = f"questions/{question['number']}/answer/"
        self.fault(400, "POST", path, {"answer": "perhaps"})
        self.model.answers.append(whispers("I have it."))
        done = self.call("POST", f"assistants/Ada/{path}", {"answer": "yes"})
        assert 200 == done.status_code, done.content
        assert self.lamp.location == self.ada
        self.fault(404, "POST", path, {"answer": "yes"})

    def test_it_is_nobody_elses(self) -> None:
        """A player who was not asked neither sees a question nor can answer it."""
        assert [] == self.get("questions/", who="player")["questions"]
        number = self.get("questions/")["questions"][0]["number"]
        self.fault(404, "POST", f"questions/{number}/answer/", {"answer": "yes"}, who="player")
        assert self.lamp.location == self.room1


@override_settings(EVENNIA_AI_BUDGET_CONFIG={"player": {"tokens_per_day": 2000}})
class TestCaps(ApiTest):
    """Caps are raised over the API as by `assistant budget`."""

    def raised(self, path: str, amount: float = 50.0, **more: object) -> str:
        body = {"cap": "tokens_per_day", "amount": amount, **more}
        answer = self.call("POST", f"{path}budget/raise/", body)
        assert 200 == answer.status_code, answer.content
        return str(answer.json()["message"])

    def test_caps_are_raised_and_taken_back(self) -> None:
        mira = f"people/account-{self.mira.account.pk}/"
        name = str(self.mira.account.key)
        for path, whose, more in (
            ("assistants/Ada/", "Ada", {}),
            ("", "The whole game", {}),
            ("", "The test bench", {"is_bench": True}),
            (mira, name, {}),
            (f"people/object-{self.mira.pk}/", name, {}),
        ):
            with self.subTest(whose=whose):
                text = self.raised(path, **more)
                assert f"{whose}: tokens_per_day is raised by 50, until the day ends." == text
                assert "that was added is gone" in self.raised(path, 0, **more)

    def test_the_budget_of_a_player(self) -> None:
        path = f"people/account-{self.mira.account.pk}/"
        self.raised(path, 500)
        data = self.get(f"{path}budget/")
        assert (person_of(self.mira), str(self.mira.account.key)) == (data["person"], data["name"])
        row = next(each for each in data["standings"] if each["name"] == "tokens_per_day")
        assert (2500, 500) == (row["cap"], row["granted"])
        self.fault(404, "GET", "people/account-99999/budget/")
        body = {"cap": "tokens_per_day", "amount": -5}
        self.fault(400, "POST", f"{path}budget/raise/", body)
        self.fault(400, "POST", f"{path}budget/raise/", {"cap": "tokens", "amount": 5})


class TestSettings(ApiTest):
    def test_a_setting_is_set_and_forgotten(self) -> None:
        path = "assistants/Ada/configuration/"
        changes = {"max_history": 40, "execution_config.sub_agents_enabled": True}
        assert 200 == self.call("PATCH", path, changes).status_code
        row = self.get(f"{path}max_history/")
        assert (40, 50, False) == (row["value"], row["default"], row["is_default"])
        assert self.get(f"{path}execution_config.sub_agents_enabled/")["value"] is True
        assert 200 == self.call("DELETE", f"{path}max_history/").status_code
        assert self.get(f"{path}max_history/")["is_default"]
        rows = {row["name"]: row for row in self.get(path)["settings"]}
        assert rows["execution_config.sub_agents_enabled"]["value"] is True
        for method in ("GET", "DELETE"):
            self.fault(404, method, f"{path}no_such/")

    def test_what_gives_it_power_over_the_game_is_for_owners(self) -> None:
        path, changes = "assistants/Ada/configuration/", {"command_allowlist": ["dig"]}
        self.fault(403, "PATCH", path, changes, who="builder with control")
        self.fault(403, "DELETE", f"{path}command_allowlist/", who="builder with control")
        assert 200 == self.call("PATCH", path, changes, who="admin").status_code
        assert ["dig"] == list(state.read(self.ada_script, "command_allowlist"))


class TestAssistants(ApiTest):
    def test_the_life_of_an_assistant(self) -> None:
        body = {"key": "Edda", "desc": "Grey.", "location": self.room2.dbref, "aliases": ["Ed"]}
        assert 201 == self.call("POST", "assistants/", body).status_code
        script = operations.find_assistant("edda")
        assert ("Grey.", self.room2) == (script.obj.db.desc, script.obj.location)
        changes = {"persona": "Copies charts.", "location": self.room1.key}
        done = self.call("PATCH", "assistants/Edda/", changes)
        assert 200 == done.status_code, done.content
        assert ("Copies charts.", self.room1) == (
            state.read(script, "persona"),
            script.obj.location,
        )
        longest = {"persona": "x" * (LONGEST_VALUE - len('""'))}  # as JSON, in its quotes
        assert 200 == self.call("PATCH", "assistants/Ada/", longest).status_code
        self.fault(400, "PATCH", "assistants/Ada/", {"persona": "x" * (LONGEST_VALUE + 1)})
        assert 201 == self.call("POST", "assistants/Edda/clone/", {"key": "Edda II"}).status_code
        assert "Copies charts." == self.get("assistants/Edda II/")["persona"]
        gone = self.call("DELETE", "assistants/Edda/")
        assert "Edda is deleted." == gone.told["message"]
        assert "/" not in (gone.told["archive"] or "")
        assert None is operations.find_assistant("Edda")

    def test_a_being_is_adopted_and_released(self) -> None:
        """The being keeps its class all the while."""
        bram = create_object(Guard, key="Bram", location=self.room1)
        response = self.call("POST", "adopt/", {"npc": bram.dbref, "key": "Grim"})
        assert (201, "Grim") == (response.status_code, response.told["key"])
        assert response.headers["Location"].endswith("/assistants/Grim/")
        assert self.get("assistants/Grim/")["adopted"]
        assert not self.get("assistants/Ada/")["adopted"]
        assert "release Grim" in self.fault(409, "DELETE", "assistants/Grim/")["message"]
        gone = self.call("POST", "assistants/Grim/release/")
        assert (200, "Grim is released.") == (gone.status_code, gone.told["message"])
        assert gone.told["archive"]
        assert "/" not in gone.told["archive"]
        assert type(bram) is Guard
        assert 201 == self.call("POST", "adopt/", {"npc": "bram"}).status_code

    def test_whoever_cannot_be_adopted(self) -> None:
        bram = create_object(Guard, key="Bram", location=self.room1)
        assert ["npc"] == list(self.fault(400, "POST", "adopt/", {"npc": "nobody"})["fields"])
        self.fault(400, "POST", "adopt/", {"npc": self.room1.dbref})
        self.fault(400, "POST", "adopt/", {})
        self.fault(403, "POST", "adopt/", {"npc": "Bram"}, who="builder")
        self.fault(409, "POST", "adopt/", {"npc": "Bram", "key": "Ada"})
        self.fault(409, "POST", "adopt/", {"npc": self.mira.dbref})
        self.fault(409, "POST", "assistants/Ada/release/")
        assert type(bram) is Guard

    def test_a_body_of_a_named_class(self) -> None:
        body = {"key": "Grim", "typeclass": f"{Guard.__module__}.Guard"}
        assert 201 == self.call("POST", "assistants/", body).status_code
        assert Guard.path == operations.find_assistant("grim").obj.typeclass_path
        wrong = {"key": "Oswin", "typeclass": "no.such.Golem"}
        assert ["typeclass"] == list(self.fault(400, "POST", "assistants/", wrong)["fields"])

    def test_what_cannot_be_made_is_refused(self) -> None:
        nowhere = self.fault(400, "POST", "assistants/", {"key": "Edda", "location": "Nowhere"})
        assert ["location"] == list(nowhere["fields"])
        self.fault(400, "PATCH", "assistants/Ada/", {"location": "#99999999"})
        self.fault(400, "POST", "assistants/", {"key": "all"})
        self.fault(400, "POST", "assistants/", {"key": "a/b"})
        self.fault(409, "POST", "assistants/Ada/clone/", {"key": "ada"})
        self.fault(400, "PATCH", "assistants/Ada/", {})
        assert ["Ada"] == [script.key for script in operations.list_assistants()]

    def test_all_are_stopped_at_once(self) -> None:
        """Assistants outside the caller's control go on, and the answer names them."""
        edda, _ = self.make("Edda")
        assert not state.read(edda, "emergency_stop")
        edda.obj.locks.add("ai_control:perm(Admin)")
        answer = self.call("POST", "emergency/stop/", {}, who="builder with control").told
        assert (1, ["Edda"]) == (answer["stopped"], answer["refused"])
        assert self.get("assistants/Ada/status/")["emergency_stop"]
        assert "stopped" == self.get("assistants/Ada/status/")["state"]
        assert 200 == self.call("POST", "assistants/Ada/emergency/clear/").status_code
        assert not self.get("assistants/Ada/status/")["emergency_stop"]

    def test_all_are_changed_at_once(self) -> None:
        """Assistants outside the caller's control are unchanged, and the answer names them."""
        edda, _ = self.make("Edda")
        edda.obj.locks.add("ai_control:perm(Admin)")
        for path, name, before in (
            ("emergency/clear/", "emergency_stop", True),
            ("stop/", "enabled", True),
            ("start/", "enabled", False),
        ):
            with self.subTest(path):
                for script in (edda, self.ada_script):
                    state.write(script, **{name: before})
                for changed in (1, 0):
                    answer = self.call("POST", path, who="builder with control").told
                    assert (changed, ["Edda"]) == (answer["changed"], answer["refused"])
                values = (state.read(edda, name), state.read(self.ada_script, name))
                assert (before, not before) == values
                self.fault(403, "POST", path, who="player")


class TestTalk(ApiTest):
    def test_why_she_answered_and_what_she_was_like_before(self) -> None:
        self.ask("whisper Ada = hello", says("Hello."))
        self.ask("say a quiet evening")
        page = self.get("assistants/Ada/events/?limit=1")
        assert "a quiet evening" == page["records"][0]["text"]
        (heard,) = self.get(f"assistants/Ada/events/?before={page['next']}")["records"]
        assert "hello" == heard["text"]
        assert "hello" in self.get(f"assistants/Ada/events/{heard['number']}/")["text"]
        messages = self.get("assistants/Ada/history/")["messages"]
        assert "hello" in messages[0]["text"]
        assert "user" == self.get("assistants/Ada/history/?format=export")["messages"][0]["role"]
        assert "together" in self.get("assistants/Ada/prompts/")["text"]
        assert self.get("assistants/Ada/prompts/?show=messages")["messages"]
        prompt = self.get("assistants/Ada/prompts/?context=reflection")
        assert "context reflection" in prompt["text"]
        assert 200 == self.call("DELETE", "assistants/Ada/history/").status_code
        assert [] == self.get("assistants/Ada/history/")["messages"]

    def test_the_record_is_read_and_travelled(self) -> None:
        self.call("POST", "assistants/Ada/emergency/stop/", {"reason": "a test"})
        page = self.get("assistants/Ada/audit/?event=EmergencyStopTriggered")
        (stop,) = page["entries"]
        assert self.get(f"assistants/Ada/audit/{stop['version']}/")["state"]["is_stopped"]
        before = stop["version"] - 1
        assert not self.get(f"assistants/Ada/audit/{before}/")["state"]["is_stopped"]
        path = f"assistants/Ada/audit/difference/?a={before}&b={stop['version']}"
        assert "is_stopped" in {change["path"] for change in self.get(path)["changes"]}
        assert self.get("assistants/Ada/audit/state/")["state"]["is_stopped"]
        self.fault(400, "GET", "assistants/Ada/audit/state/?at=some day")
        self.fault(404, "GET", "assistants/Ada/audit/999999999/")
        assert self.account.key == stop["details"]["by"]
        assert "api" == stop["details"]["via"]

    def test_she_is_told_and_does_it(self) -> None:
        self.model.answers.append(says("Good night, all."))
        response = self.call("POST", "assistants/Ada/tell/", {"instruction": "Say good night."})
        assert 200 == response.status_code, response.content
        self.fault(404, "GET", "assistants/Ada/requests/dinner-7/")
        run = self.call("POST", "assistants/Ada/tools/look/execute/", {"arguments": {}})
        assert (200, "look") == (run.status_code, run.told["tool"])
        error = self.fault(
            400, "POST", "assistants/Ada/tools/look/execute/", {"arguments": {"x": 1}}
        )
        assert "x" in error["message"]
        self.fault(404, "POST", "assistants/Ada/tools/no_such/execute/")

    def test_what_she_is_told_by_a_name_can_be_had_again(self) -> None:
        """The same named request is not executed twice, and only its sender can read the result."""
        self.model.answers.append(says("Good night, all."))
        body = {"instruction": "Say good night.", "name": "dinner-7"}
        first, again = (self.call("POST", "assistants/Ada/tell/", body) for _ in range(2))
        assert (200, first.told) == (again.status_code, again.told), first.content
        request = self.get("assistants/Ada/requests/dinner-7/")
        assert ("answered", first.told["answer"]) == (request["state"], request["answer"])
        self.fault(409, "POST", "assistants/Ada/tell/", {**body, "instruction": "Dance."})
        self.fault(404, "GET", "assistants/Ada/requests/a b/")
        self.fault(404, "GET", "assistants/Ada/requests/dinner-7/", who="admin")

    def test_goals_are_given_and_end(self) -> None:
        response = self.call("POST", "assistants/Ada/goals/", {"text": "Count.", "priority": 9})
        path = f"assistants/Ada/goals/{response.told['id']}/"
        assert f"/api/ai/{path}" == response.headers["Location"]
        assert 9 == self.get("assistants/Ada/goals/")["goals"][0]["priority"]
        assert 200 == self.call("PATCH", path, {"status": "dropped"}).status_code
        self.fault(409, "PATCH", path, {"status": "dropped"})
        self.fault(404, "PATCH", "assistants/Ada/goals/77/", {"status": "dropped"})

    def test_breakers_are_closed_by_hand(self) -> None:
        breaker = self.ada_script.work.breakers.get_or_create("tool:say")
        breaker.isolate()
        path = "assistants/Ada/breakers/tool:say/reset/"
        assert 200 == self.call("POST", path, who="builder with control").status_code
        assert "closed" == breaker.state.value
        self.fault(404, "POST", "assistants/Ada/breakers/http://a/b/reset/")
