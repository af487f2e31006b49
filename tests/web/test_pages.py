"""The pages as everybody may see them: at once, whole, and with nothing of anybody else's."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, urlsplit

from django.test import Client
from django.urls import set_script_prefix

from evennia_ai import emergency, operations
from evennia_ai.runtime import state
from evennia_ai.web.menu import PAGES
from evennia_ai.web.views import POLICY
from tests.shell.support import says
from tests.web.support import BACKEND, WebTest, text_of


class PagesTest(WebTest):
    """Addresses, logins and headers."""

    def test_who_is_not_logged_in_is_sent_to_the_login(self) -> None:
        """Every page without an account leads to the game's own login, and back."""
        for page in PAGES:
            address = self.address(page.name, **self.path_of(page.path))
            response = self.client_of("anonymous").get(address)
            assert 302 == response.status_code
            assert response["Location"].endswith(f"?next={quote(address)}")

    def test_the_login_leads_back_to_any_address(self) -> None:
        """Also one with signs that mean something in addresses, and with what was asked there."""
        key = "Zoë O'Neil #2?&Łucja"
        operations.create_assistant(key, location=self.ada.location)
        asked = f"{self.address('live', key=key)}?x=1"
        assert 200 == self.client_of("owner").get(asked).status_code
        client = self.client_of("anonymous")
        for headers, name in (({}, "Location"), ({"HX-Request": "true"}, "HX-Redirect")):
            there = client.get(asked, headers=headers)[name]
            assert [asked] == parse_qs(urlsplit(there).query)["next"]

    def test_a_game_below_a_path(self) -> None:
        """Behind a server that gives the game a path of its own, every address begins with it."""
        now, silence = self.address("now"), self.address("silence", key="Ada")
        client = self.client_of("owner")
        self.addCleanup(set_script_prefix, "/")
        set_script_prefix("/game/")  # as the server does at each request
        page = client.get(now).content.decode()
        addresses = re.findall(r'(?:href|action|formaction|connect)="(/[^"]*)"', page)
        moved = client.post(silence)
        assert addresses
        assert [] == [each for each in addresses if not each.startswith(("/game/", "/static/"))]
        assert moved["Location"].startswith("/game/ai/")

    def test_a_page_lets_nothing_in_from_elsewhere(self) -> None:
        """No script and no picture from anywhere else, whatever a text says; and no cache."""
        response = self.get("now")
        assert POLICY == response["Content-Security-Policy"]
        assert "no-store" in response["Cache-Control"]
        assert "unsafe" not in POLICY

    def test_a_part_of_a_page_has_no_frame(self) -> None:
        """What htmx asks for is the content alone."""
        client = self.client_of("owner")
        part = client.get(self.address("now"), headers={"HX-Request": "true"}).content.decode()
        assert "<html" not in part
        assert "Ada" in part

    def test_a_button_needs_the_token_of_its_form(self) -> None:
        """Another site cannot press it."""
        client = Client(enforce_csrf_checks=True)
        client.force_login(self.people["owner"], BACKEND)
        refused = client.post(self.address("stop", key="Ada"))
        assert (403, POLICY) == (refused.status_code, refused["Content-Security-Policy"])
        assert not emergency.is_stopped(self.ada_script)

    def test_a_visit_writes_no_session(self) -> None:
        """Looking again and again costs no row."""
        client = self.client_of("owner")
        client.get(self.address("now"))
        with self.statements() as made:
            assert 200 == client.get(self.address("now")).status_code
        of_sessions = [each["sql"] for each in made if "django_session" in each["sql"]]
        assert of_sessions  # it is read, or nothing of it would be seen here at all
        assert [] == [sql for sql in of_sessions if not sql.startswith("SELECT")]

    def test_an_unknown_assistant_is_named(self) -> None:
        """A page says what is not there."""
        response = self.get("live", key="Nobody")
        assert 404 == response.status_code
        assert "There is no assistant named 'Nobody'" in text_of(response)


class NowTest(WebTest):
    """The first page and its buttons."""

    def test_all_at_a_glance(self) -> None:
        """Where she is, how she is, and what is used up today."""
        shown = text_of(self.get("now"))
        for told in ("Ada", "awake", self.ada.location.key, "tokens today"):
            assert told in shown

    def test_what_was_heard_last(self) -> None:
        """By which way, in which words, and what came of it; without its number in a list."""
        self.ask("say Ada, hello there", says("Hello."))
        told = self.get("now").content.decode().partition('<p class="words">')[2]
        assert "Tom spoke to me &quot;Ada, hello there&quot;" in told.partition("</p>")[0]

    def test_stop_and_clear(self) -> None:
        """A stop is told with its reason, is in the record, and is cleared from the same page."""
        shown = text_of(self.post("stop", {"reason": "it rants"}, key="Ada"))
        assert emergency.is_stopped(self.ada_script)
        assert "Ada is stopped." in shown
        assert "it rants" in shown
        shown = text_of(self.post("clear", key="Ada"))
        assert not emergency.is_stopped(self.ada_script)
        assert "Ada" in shown

    def test_stop_all_leaves_out_those_of_others(self) -> None:
        """Whoever has a say over none stops none, and is told so."""
        response = self.post("stop-all", who="builder")
        assert 403 == response.status_code
        assert not emergency.is_stopped(self.ada_script)
        self.post("stop-all", who="controller")
        assert emergency.is_stopped(self.ada_script)

    def test_those_of_others_are_named(self) -> None:
        """Whoever stops or clears all is told which were left out."""
        script, body = self.make("Bea")
        body.locks.add("ai_control:perm(Admin)")
        for button in ("stop-all", "clear-all"):
            assert "Not yours: Bea." in text_of(self.post(button, who="controller"))
            assert "Not yours" not in text_of(self.post(button))
        self.post("stop-all", who="controller")
        assert not emergency.is_stopped(script)

    def test_what_is_said_names_no_command(self) -> None:
        """There is a button for each; whoever types a command is told the next one."""
        for button, told in (
            ("stop-all", "One assistant is stopped, also across restarts."),
            ("stop", "Ada is already stopped."),
            ("clear", "Ada: "),
            ("stop", "It stays stopped across restarts."),
            ("clear", "Ada: "),
            ("silence", "Ada is silent."),
        ):
            path = {} if button == "stop-all" else {"key": "Ada"}
            shown = text_of(self.post(button, **path))
            assert told in shown
            for word in ("assistant emergency", "assistant start", "until:"):
                assert word not in shown
        operations.set_enabled(self.ada_script, True)
        typed = operations.set_enabled(self.ada_script, False)
        assert "Ada is silent. To let it answer: assistant start Ada" == typed.message

    def test_silence_and_start(self) -> None:
        """She is silent until she is started again."""
        self.post("silence", key="Ada")
        assert not state.read(self.ada_script, "enabled")
        self.post("start", key="Ada")
        assert state.read(self.ada_script, "enabled")

    def test_what_is_refused_is_said_on_the_page(self) -> None:
        """A button that makes no sense now says why; the page is there all the same."""
        response = self.post("start", key="Ada")
        assert 400 == response.status_code
        assert "Ada is already awake." in text_of(response)
