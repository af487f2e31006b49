"""The page of settings: every setting has a field, and is validated as in the game."""

import html
from itertools import zip_longest
from typing import Any

from django.conf import settings
from django.test.utils import override_settings
from evennia.utils import create

from evennia_ai import operations
from evennia_ai.core.settings.assistant import SCHEMAS
from evennia_ai.core.settings.paths import NESTED, schema_of_keys
from evennia_ai.core.settings.schema import kind_of, known_keys
from evennia_ai.operations.settings import changing as settings_of
from evennia_ai.runtime import state
from tests.browser.cases import CASES
from tests.web.support import WebTest, form_of, intruders, text_of

NESTED_KEYS = list(NESTED.values())
FIELDS = {
    ".".join(keys): keys
    for keys in [*((name,) for name in SCHEMAS if name != "assistant_key"), *NESTED_KEYS]
    if not known_keys(schema_of_keys(keys))
}
BAD = {
    "boolean": "perhaps",
    "enum": "banana",
    "integer": "many",
    "number": "many",
    "array": "{}",
    "object": "nonsense",
    "string": "x" * 20_001,
}


def typed_together() -> list[list[tuple[Any, ...]]]:
    """Return all settings with a kind, grouped into forms.

    A mapping reports only its first error, so a form has one key of each; a context has its own
    form.
    """
    by_name: dict[str, list[tuple[Any, ...]]] = {}
    for keys in FIELDS.values():
        if kind_of(schema_of_keys(keys)) and keys != ("context_configs",):
            by_name.setdefault(str(keys[0]), []).append(keys)
    contexts = [[keys] for keys in by_name.pop("context_configs")]
    rows = zip_longest(*by_name.values())
    return [*contexts, *([keys for keys in row if keys] for row in rows)]


class SettingsTest(WebTest):
    def set(self, who: str = "owner", **more: Any) -> Any:
        """Save a form of settings; `__` in a name stands for a dot."""
        form = {f"set:{path.replace('__', '.')}": typed for path, typed in more.items()}
        return self.post("set-settings", form, who=who, key="Ada")

    def field(self, body: str, path: str) -> str:
        """Return the part of the page from a field's help to its end."""
        return body.split(f'id="help-{path}"')[1].split('<div class="field">')[0]


class FieldsTest(SettingsTest):
    def test_every_setting_has_a_field(self) -> None:
        body = self.get("settings", key="Ada").content.decode()
        contexts = {
            keys[1] for keys in FIELDS.values() if keys[0] == "context_configs" and keys[1:]
        }
        for context in contexts:
            body += self.get("prompt", query={"context": context}, key="Ada").content.decode()
        missing = [path for path in FIELDS if f'name="set:{path}"' not in body]
        assert ["context_configs"] == missing or [] == missing
        for path, keys in FIELDS.items():
            text = schema_of_keys(keys).get("description", "")
            assert path in missing or html.escape(text) in self.field(body, path), path

    def test_a_bad_value_is_refused_as_in_the_game(self) -> None:
        """The error is the one of the game, beside its field, which keeps the input."""
        before = settings_of.configuration(self.ada_script).data
        for together in typed_together():
            first = together[0]
            page = "set-context" if first[0] == "context_configs" else "set-settings"
            typed = {".".join(keys): BAD[kind_of(schema_of_keys(keys))] for keys in together}
            form = {f"set:{path}": text for path, text in typed.items()}
            response = self.post(page, {**form, "context": first[-2:][0]}, key="Ada")
            assert 400 == response.status_code
            body = response.content.decode()
            for path, text in typed.items():
                with self.subTest(path=path):
                    in_the_game = settings_of.set_setting(self.ada_script, path, text)
                    assert not in_the_game.ok
                    field = self.field(body, path)
                    assert html.escape(in_the_game.errors[path]) in field
                    assert 'aria-invalid="true"' in field
                    if text not in (BAD["boolean"], BAD["enum"]):  # nothing else can be typed
                        assert text in html.unescape(field)
        assert before == settings_of.configuration(self.ada_script).data

    def test_bounds_unit_default_and_whose_it_is(self) -> None:
        with override_settings(EVENNIA_AI_MEMORY_CONFIG={"recall_limit": 7}):
            body = self.get("settings", key="Ada").content.decode()
        assert "its keys are in" not in text_of_part(body)
        assert "how often it works on its goals by itself" in text_of_part(body)
        rate = text_of_part(self.field(body, "tick_rate"))
        assert "a whole number from 1 to 86400" in rate
        assert "Now by default: 5." in rate
        assert "Now the game's: 7." in text_of_part(self.field(body, "memory_config.recall_limit"))
        assert '(seconds)</span></label>\n  <p class="help" id="help-confirm_seconds"' in body
        self.set(tick_rate="9")
        body = self.get("settings", key="Ada").content.decode()
        assert "Set here. Otherwise: 5." in text_of_part(self.field(body, "tick_rate"))


def text_of_part(body: str) -> str:
    class Part:
        content = body.encode()

    return text_of(Part())  # type: ignore[arg-type]


class SavingTest(SettingsTest):
    def test_set_and_unset(self) -> None:
        shown = text_of(self.set(tick_rate="9", execution_config__multi_action_enabled="no"))
        assert "Ada: tick_rate is 9 now (was 5)." in shown
        assert 9 == state.read(self.ada_script, "tick_rate")
        assert {"multi_action_enabled": False} == state.read(self.ada_script, "execution_config")
        form = {"unset": "tick_rate", "set:max_history": "30"}
        shown = text_of(self.post("set-settings", form, key="Ada"))
        assert "tick_rate is 5, the default, now (was 9)." in shown
        assert 5 == state.read(self.ada_script, "tick_rate")
        assert 30 == state.read(self.ada_script, "max_history")

    def test_only_what_was_typed_is_changed(self) -> None:
        """An unchanged field must not undo what somebody else set meanwhile."""
        form = {
            "set:tick_rate": "",
            "was:tick_rate": "",
            "set:max_history": "30",
            "was:max_history": "",
        }
        settings_of.set_setting(self.ada_script, "tick_rate", 11)
        self.post("set-settings", form, key="Ada")
        assert 11 == state.read(self.ada_script, "tick_rate")
        response = self.post("set-settings", {"set:tick_rate": "", "was:tick_rate": ""}, key="Ada")
        assert "every field is as it was" in text_of(response)

    def test_a_second_tab_puts_nothing_back(self) -> None:
        """A setting that somebody else changed is shown first; a second press sets it."""
        stale = form_of(self.get("settings", key="Ada"), "#when-it-acts")
        self.set(tick_rate="11", max_pending_events="44")
        response = self.post("set-settings", {**stale, "set:tick_rate": "12"}, key="Ada")
        assert 409 == response.status_code
        assert "tick_rate was changed by somebody since you opened it" in text_of(response)
        assert "it is 11 now" in text_of(response)
        again = form_of(response, "#when-it-acts")
        assert ("12", "11") == (again["set:tick_rate"], again["was:tick_rate"])
        # A field that was not edited shows the present value, so the second press keeps it.
        assert ("44", "44") == (
            again["set:max_pending_events"],
            again["was:max_pending_events"],
        )
        self.post("set-settings", again, key="Ada")
        assert 12 == state.read(self.ada_script, "tick_rate")
        assert 44 == state.read(self.ada_script, "max_pending_events")

    def test_all_or_nothing(self) -> None:
        response = self.set(tick_rate="9", max_history="many", persona="She <keeps> lamps.")
        assert 400 == response.status_code
        assert 5 == state.read(self.ada_script, "tick_rate")
        body = response.content.decode()
        assert 'name="set:tick_rate" value="9"' in body
        assert 'name="set:max_history" value="many"' in body
        assert "\nShe &lt;keeps&gt; lamps.</textarea>" in body

    def test_lists_stand_a_line_each(self) -> None:
        self.set(guidelines="Keep short, please.\r\n\r\nWave.")
        assert ["Keep short, please.", "Wave."] == state.read(self.ada_script, "guidelines")
        body = self.get("settings", key="Ada").content.decode()
        assert "\nKeep short, please.\nWave.</textarea>" in body
        self.set(guidelines='["Hum."]')
        assert ["Hum."] == state.read(self.ada_script, "guidelines")

    def test_lines_may_begin_like_json(self) -> None:
        """As lines with the assistant's name do, which are the example of that setting."""
        lines = ["{name} hums.", "{name}, still, hums."]
        self.set(thinking_lines="\n".join(lines))
        assert lines == state.read(self.ada_script, "thinking_lines")
        self.set(guidelines="[Never] shout.\nWave.")
        assert ["[Never] shout.", "Wave."] == state.read(self.ada_script, "guidelines")

    def test_line_breaks_are_kept(self) -> None:
        """A form changes nothing that was not edited, and no entry of a list becomes two."""
        broken = {"failure_line": "My head\nspins.", "thinking_lines": ["Hm.\nHm.", "Well."]}
        settings_of.update_settings(self.ada_script, broken)
        form = form_of(self.get("settings", key="Ada"), "#who-it-is")
        self.post("set-settings", {**form, "set:max_history": "30"}, key="Ada")
        assert broken == {name: state.read(self.ada_script, name) for name in broken}
        assert 30 == state.read(self.ada_script, "max_history")
        again = form["set:thinking_lines"].replace("Well.", "Well!")
        self.set(thinking_lines=again)
        assert ["Hm.\nHm.", "Well!"] == state.read(self.ada_script, "thinking_lines")

    def test_powers_need_an_owner(self) -> None:
        response = self.set("controller", command_allowlist="look")
        assert 403 == response.status_code
        assert "configure powers" in text_of(response)
        assert not state.read(self.ada_script, "command_allowlist")
        body = self.get("settings", who="controller", key="Ada").content.decode()
        assert 'name="set:command_allowlist"' not in body
        assert 'name="set:tick_rate"' in body
        self.set(command_allowlist="look")
        assert ["look"] == state.read(self.ada_script, "command_allowlist")

    def test_a_builder_looks_only(self) -> None:
        body = self.get("settings", who="builder", key="Ada").content.decode()
        assert "set:tick_rate" not in body
        assert "<button" not in body

    def test_undo_and_redo(self) -> None:
        self.set(tick_rate="9")
        shown = text_of(self.get("settings", key="Ada"))
        assert "Astrid: tick_rate: 5 -> 9 Edit" in shown
        shown = text_of(self.post("settings-undo", key="Ada"))
        assert 5 == state.read(self.ada_script, "tick_rate")
        assert "Redo it" in shown
        assert "assistant redo" not in shown
        self.post("settings-redo", key="Ada")
        assert 9 == state.read(self.ada_script, "tick_rate")
        response = self.post("settings-undo", {"number": "<i>"}, key="Ada")
        assert "'<i>' is not the number of an edit." in text_of(response)
        self.set(command_allowlist="look")
        assert 403 == self.post("settings-undo", who="controller", key="Ada").status_code

    def test_hostile_texts_are_read_as_they_are(self) -> None:
        texts = [case.written.replace("\x00", "") for case in CASES]
        self.ada_script.db.persona = "\n".join(texts)
        self.ada.db.desc = "\n".join(texts)
        self.ada_script.db.channel_configs = dict.fromkeys(texts, "trigger")
        pages = [self.get("settings", key="Ada"), self.get("prompt", key="Ada")]
        form = {f"set:{path}": text for path, text in zip(FIELDS, texts, strict=False)}
        pages.append(self.post("set-settings", form, key="Ada"))
        assert 400 == pages[-1].status_code
        for response in pages:
            assert [] == intruders(response)


class LookTest(SettingsTest):
    def test_a_second_tab_puts_no_look_back(self) -> None:
        """A change by somebody else is shown before it is overwritten."""
        stale = form_of(self.get("settings", key="Ada"), "look/")
        self.post("set-look", {**stale, "desc": "She wears grey."}, key="Ada")
        response = self.post("set-look", {**stale, "aliases": "keeper"}, key="Ada")
        assert 409 == response.status_code
        assert "desc : it is She wears grey. now" in text_of(response)
        assert "She wears grey." == self.ada.db.desc
        self.post("set-look", form_of(response, "look/"), key="Ada")
        assert "She wears grey." != self.ada.db.desc

    def test_a_second_tab_puts_no_place_or_channel_back(self) -> None:
        channel = create.create_channel("Lamps", locks="listen:all()")
        self.addCleanup(channel.delete)
        page = self.get("settings", key="Ada")
        place, mode = form_of(page, "place/"), {**form_of(page, "channel/"), "mode": "trigger"}
        self.post("set-place", {**place, "location": self.room2.dbref}, key="Ada")
        self.post("set-channel", mode, key="Ada")
        response = self.post("set-place", place, key="Ada")
        assert 409 == response.status_code
        assert f"it is {self.room2.key} ({self.room2.dbref}) now" in text_of(response)
        assert self.room2 == self.ada.location
        self.post("set-place", form_of(response, "place/"), key="Ada")
        assert self.room2 != self.ada.location
        response = self.post("set-channel", {**mode, "mode": "leave"}, key="Ada")
        assert 409 == response.status_code
        assert channel.subscriptions.has(self.ada)
        assert '<option value="leave" selected>' in response.content.decode()
        self.post("set-channel", {**form_of(response, "channel/"), "mode": "leave"}, key="Ada")
        assert not channel.subscriptions.has(self.ada)

    def test_look_and_place(self) -> None:
        form = {"desc": "A lamp.\r\nIt glows.", "aliases": "lampy\r\n\r\nthe lamp"}
        self.post("set-look", form, key="Ada")
        assert "A lamp.\nIt glows." == self.ada.db.desc
        assert {"lampy", "the lamp"} == set(self.ada.aliases.all())
        self.post("set-place", {"location": str(self.room2.dbref)}, key="Ada")
        assert self.room2 == self.ada.location
        response = self.post("set-place", {"location": "<b>nowhere"}, key="Ada")
        assert 404 == response.status_code
        assert "There is no room named '<b>nowhere'" in text_of(response)
        assert 'value="&lt;b&gt;nowhere"' in response.content.decode()
        response = self.post("set-look", {"desc": "x" * 5000, "aliases": "lampy"}, key="Ada")
        assert "must have at most 4000" in text_of(response)
        assert "x" * 5000 in response.content.decode()

    def test_channels(self) -> None:
        channel = create.create_channel("Lamps", locks="listen:all()")
        self.addCleanup(channel.delete)
        self.post("set-channel", {"channel": "Lamps", "mode": "trigger"}, key="Ada")
        assert channel.subscriptions.has(self.ada)
        body = self.get("settings", key="Ada").content.decode()
        assert '<option value="trigger" selected>answers everything' in body
        self.post("set-channel", {"channel": "Lamps", "mode": "leave"}, key="Ada")
        assert not channel.subscriptions.has(self.ada)

    def test_a_copy(self) -> None:
        response = self.post("clone", {"copy_name": "Bea"}, key="Ada")
        assert self.address("live", key="Bea") == response.redirect_chain[-1][0]
        assert operations.find_assistant("Bea") is not None
        response = self.post("clone", {"copy_name": "Ada"}, key="Ada")
        assert response.status_code in (400, 409)

    def test_an_account(self) -> None:
        assert "has an account now" in text_of(self.post("give-account", key="Ada"))
        assert 409 == self.post("give-account", key="Ada").status_code

    def test_to_delete_it_its_name_is_typed(self) -> None:
        response = self.post("delete", {"sure": "yes"}, key="Ada")
        assert "to be sure, type its name, Ada" in text_of(response)
        assert operations.find_assistant("Ada") is not None
        response = self.post("delete", {"sure": "ada"}, key="Ada")
        assert "Ada is deleted. Its record is in the file ada-" in text_of(response)
        assert settings.GAME_DIR not in response.content.decode()
        assert operations.find_assistant("Ada") is None

    def test_who_was_made_with_its_body_is_not_released(self) -> None:
        response = self.post("release", {"sure": "Ada"}, key="Ada")
        assert 409 == response.status_code
        assert "assistant delete Ada" in text_of(response)

    def test_a_being_gets_its_mind_taken_away(self) -> None:
        golem = create.create_object(key="Golem", location=self.room1)
        operations.adopt(golem, "Bram")
        assert "To take its mind away" in text_of(self.get("settings", key="Bram"))
        response = self.post("release", {"sure": "Bram"}, key="Bram")
        assert "Bram is released, and the being is as it was before." in text_of(response)
        assert operations.find_assistant("Bram") is None
        assert golem in self.room1.contents

    def test_its_card_is_a_file(self) -> None:
        """The file has a harmless name and type; an error is a page."""
        for kind, begins in (("json", b"{"), ("png", b"\x89PNG")):
            response = self.get(f"card-{kind}", key="Ada")
            assert response.content.startswith(begins)
            assert f'attachment; filename="card-ada.{kind}"' == response["Content-Disposition"]
            assert "nosniff" == response["X-Content-Type-Options"]
        assert 403 == self.get("card-json", who="player", key="Ada").status_code
        response = self.get("card-json", key="Nobody")
        assert 404 == response.status_code
        assert "Content-Disposition" not in response
