"""All pages: logins, headers, and the first page with its buttons."""

import html
import re
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import patch
from urllib.parse import parse_qs, quote, urlsplit

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import reverse, set_script_prefix
from twisted.internet.defer import CancelledError, Deferred

from evennia_ai import emergency, operations
from evennia_ai.runtime import state
from evennia_ai.web import forms
from evennia_ai.web.menu import MOST_IN_SIGHT, PAGES
from evennia_ai.web.pages import now
from evennia_ai.web.sending import ASKED, do_once
from evennia_ai.web.views import POLICY
from tests.game.messages.rp_world import RoleGolem
from tests.game.support import says
from tests.web.support import BACKEND, WebTest, form_of, text_of


def form_token(response: HttpResponse) -> str:
    """Return the token against requests from other sites, as the forms of a page have it."""
    return response.content.decode().partition('name="csrfmiddlewaretoken" value="')[2][:64]


class PagesTest(WebTest):
    def test_who_is_not_logged_in_is_sent_to_the_login(self) -> None:
        for page in PAGES:
            address = self.address(page.name, **self.path_of(page.path))
            response = self.client_of("anonymous").get(address)
            assert 302 == response.status_code
            assert response["Location"].endswith(f"?next={quote(address)}")

    def test_the_login_leads_back_to_any_address(self) -> None:
        """Names with special characters and query strings survive the way to the login and back."""
        key = "Zoë O'Neil #2?&Łucja"
        operations.create_assistant(key, location=self.ada.location)
        asked = f"{self.address('live', key=key)}?x=1"
        assert 200 == self.client_of("owner").get(asked).status_code
        client = self.client_of("anonymous")
        for headers, name in (({}, "Location"), ({"HX-Request": "true"}, "HX-Redirect")):
            there = client.get(asked, headers=headers)[name]
            assert [asked] == parse_qs(urlsplit(there).query)["next"]

    def test_a_game_below_a_path(self) -> None:
        """Behind a proxy that serves the game below a path, every address begins with that path."""
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
        response = self.get("now")
        assert POLICY == response["Content-Security-Policy"]
        assert "no-store" in response["Cache-Control"]
        assert "unsafe" not in POLICY

    def test_a_part_of_a_page_has_no_frame(self) -> None:
        """A request of htmx gets the content without the frame of the page."""
        client = self.client_of("owner")
        part = client.get(self.address("now"), headers={"HX-Request": "true"}).content.decode()
        assert "<html" not in part
        assert "Ada" in part

    def test_a_button_needs_the_token_of_its_form(self) -> None:
        """Without this, another site could press it."""
        client = Client(enforce_csrf_checks=True)
        client.force_login(self.people["owner"], BACKEND)
        refused = client.post(self.address("stop", key="Ada"))
        assert (403, POLICY) == (refused.status_code, refused["Content-Security-Policy"])
        assert not emergency.is_stopped(self.ada_script)

    def test_a_form_that_is_too_large_gets_a_page(self) -> None:
        """The check of the token is the first to read it."""
        client = Client(enforce_csrf_checks=True)
        client.force_login(self.people["owner"], BACKEND)
        token = {"csrfmiddlewaretoken": form_token(client.get(self.address("make")))}
        many = dict.fromkeys(map(str, range(2_000)), "x")
        for form, status in (({"persona": "x" * 3_000_000}, 413), (many, 400)):
            refused = client.post(self.address("create"), {**token, **form})
            assert (status, POLICY) == (refused.status_code, refused["Content-Security-Policy"])
            assert "workbench" in text_of(refused)
        assert 400 == client.post(self.address("create"), {**token, "key": ""}).status_code

    def test_a_part_for_which_the_game_has_no_time_is_asked_for_again(self) -> None:
        client = self.client_of("owner")
        for config, again in (({}, None), ({"timeout_seconds": -1}, "later")):
            with override_settings(EVENNIA_AI_API_CONFIG=config):
                part = client.get(self.address("now"), headers={"HX-Request": "true"})
            assert again == part.headers.get("HX-Trigger"), part.status_code

    def test_the_list_of_many_assistants_is_closed(self) -> None:
        """On a phone it would fill several screens before each page."""
        menu = '<nav aria-label="Assistants">'
        for count, is_closed in ((MOST_IN_SIGHT, False), (MOST_IN_SIGHT + 1, True)):
            while len(operations.list_assistants()) < count:
                self.make(f"Brass{len(operations.list_assistants())}")
            shown = self.get("questions").content.decode().partition(menu)[2].partition("</nav>")[0]
            assert is_closed is shown.strip().startswith("<details><summary>")
            assert count == shown.count("<li>")

    def test_a_visit_writes_no_session(self) -> None:
        client = self.client_of("owner")
        client.get(self.address("now"))
        with self.statements() as queries:
            assert 200 == client.get(self.address("now")).status_code
        of_sessions = [each["sql"] for each in queries if "django_session" in each["sql"]]
        assert of_sessions  # shows that the statements of sessions are recorded here
        assert [] == [sql for sql in of_sessions if not sql.startswith("SELECT")]

    def test_an_unknown_assistant_is_named(self) -> None:
        response = self.get("live", key="Nobody")
        assert 404 == response.status_code
        assert "There is no assistant named 'Nobody'" in text_of(response)

    def test_a_refused_page_leads_to_the_pages_that_one_may_see(self) -> None:
        for who, name, there in (("player", "money", "mine"), ("owner", "live", "now")):
            path = {"key": "Nobody"} if name == "live" else {}
            refused = self.get(name, who=who, **path).content.decode()
            link = re.search(r'<a href="([^"]*)">the pages that you may see', refused)
            assert link is not None
            shown = self.client_of(who).get(link[1], follow=True)
            assert (200, self.address(there)) == (shown.status_code, shown.request["PATH_INFO"])


class UnsentTest(WebTest):
    """A form whose login ended, or was renewed, while somebody filled it in."""

    FORM: ClassVar = {"text": 'It <b>blew</b>.\n\né |r😀 "all" night', "kind": "fact"}

    def setUp(self) -> None:
        super().setUp()
        self.strict = Client(enforce_csrf_checks=True)
        self.added = self.address("memory-add", key="Ada")

    def open_form(self) -> dict[str, str]:
        """Open a page with a form; returns what is typed, with the token of the form."""
        self.strict.cookies.pop("csrftoken", None)  # a login in a browser renews it
        self.strict.force_login(self.people["owner"], BACKEND)
        opened = self.strict.get(self.address("memory", key="Ada"))
        return {**self.FORM, "csrfmiddlewaretoken": form_token(opened)}

    def send(self, form: Any, origin: str = "http://testserver") -> HttpResponse:
        return self.strict.post(self.added, form, follow=True, headers={"Origin": origin})

    def test_is_kept_until_it_is_sent_again(self) -> None:
        typed = self.open_form()
        self.strict.cookies.pop("sessionid")
        kept = self.send(typed)
        assert 403 == kept.status_code
        assert "not logged in any more, so nothing is done" in text_of(kept)
        assert {**self.FORM, ASKED: "yes"} == form_of(kept, self.added)
        assert self.FORM["text"].splitlines()[0] in text_of(kept)
        self.open_form()
        fields, old = form_of(kept, self.added), form_token(kept)
        assert "You have logged in since" in text_of(
            self.send({**typed, "csrfmiddlewaretoken": old})
        )
        sent = self.send({**fields, "csrfmiddlewaretoken": old})
        assert "Ada knows that" in text_of(sent)

    def test_keeps_the_name_of_its_button_and_asks_for_its_file(self) -> None:
        card = SimpleUploadedFile("card.json", b"{}")
        address = self.address("look-at-card")
        kept = self.client_of("anonymous").post(address, {"file": card, "reveal": "yes"})
        assert 'type="file" name="file"' in kept.content.decode()
        assert {"reveal": "yes", ASKED: "yes"} == form_of(kept, address)

    def test_of_another_site_is_not_kept(self) -> None:
        """A visitor might send it from a page of ours."""
        typed = {**self.open_form(), ASKED: "yes", "csrfmiddlewaretoken": ""}
        for origin in ("http://elsewhere.example", "null"):
            refused = self.send(typed, origin)
            assert 403 == refused.status_code
            assert "no valid token of this site" in text_of(refused)
            assert "blew" not in text_of(refused)
        self.strict.cookies.pop("sessionid")
        assert "/auth/login/" in self.send(typed, "http://elsewhere.example").redirect_chain[0][0]


class TwiceTest(WebTest):
    """The same form sent twice, as by a double click."""

    def send(self, name: str, form: dict[str, str], page: int = 1) -> str:
        token = {"csrfmiddlewaretoken": f"{self.id()} {page}"}
        sent = self.post(name, {**form, **token}, key="Ada", follow=False)
        assert 302 == sent.status_code, text_of(sent)
        return text_of(self.client_of("owner").get(sent["Location"]))

    def test_acts_once_and_has_the_same_outcome(self) -> None:
        texts = "The mill burned.", "The mill stands."
        for text in (texts[0], texts[0], texts[1]):
            assert "Ada knows that now" in self.send("memory-add", {"text": text, "kind": "fact"})
        found = text_of(self.get("memory", key="Ada", query={"text": "The mill"}))
        assert ["1", "1"] == [str(found.count(text)) for text in texts]

    def visit(self) -> Any:
        token = {"csrfmiddlewaretoken": self.id()}
        return SimpleNamespace(account=self.people["owner"], form=token, files={}, path={})

    def test_while_it_is_at_work_the_second_waits_for_the_first(self) -> None:
        begun: list[Deferred[object]] = []
        visit = self.visit()

        def press() -> Deferred[object]:
            def do() -> Deferred[object]:
                begun.append(Deferred())
                return begun[-1]

            return do_once(visit, "import", do)

        for outcome, ended in (("refused", 1), (("done", "/ai/"), 2)):
            first, second = press(), press()
            assert ended == len(begun)
            begun[-1].callback(outcome)
            assert [outcome, outcome] == [first.result, second.result]
        assert ("done", "/ai/") == press()

    def test_of_a_cut_off_press_the_second_waits_for_its_own_end(self) -> None:
        visit = self.visit()
        first, second = (do_once(visit, "import", Deferred) for _ in range(2))
        first.addErrback(lambda failure: failure.trap(CancelledError))
        first.cancel()
        assert not second.called

    def test_its_outcome_is_told_once(self) -> None:
        token = {"csrfmiddlewaretoken": self.id()}
        first = self.post("stop", token, key="Ada", follow=False)
        shown = text_of(self.post("stop", token, key="Ada"))
        assert 302 == first.status_code
        assert 1 == shown.count("Ada is stopped.")

    def test_of_a_page_shown_anew_it_acts_again(self) -> None:
        form = {"text": "The mill burned.", "kind": "fact"}
        for page in (1, 2):
            self.send("memory-add", form, page)
        found = text_of(self.get("memory", key="Ada", query={"text": "The mill"}))
        assert 2 == found.count("The mill burned.")


class HiddenKeyTest(WebTest):
    """Players know Golem, which is an admin's, by a description; Bo is staff and not an admin."""

    def setUp(self) -> None:
        super().setUp()
        _, golem = self.make("Golem", typeclass=RoleGolem)
        golem.sdesc.add("a stone giant")
        golem.locks.add("ai_control:perm(Admin)")

    def test_staff_find_what_their_lists_show(self) -> None:
        bo = self.client_of("builder")
        listed = bo.get(reverse("evennia_ai_api:assistants")).json()["assistants"]
        assert ["Ada", "Golem"] == [each["key"] for each in listed]
        for key in ("Ada", "Golem"):
            shown = bo.get(reverse("evennia_ai_api:assistant", kwargs={"key": key}))
            assert key == shown.json()["key"]
            assert f'href="{self.address("live", key=key)}"' in self.get("now").content.decode()
            assert 200 == self.get("live", who="builder", key=key).status_code

    def test_players_find_nothing_by_its_key(self) -> None:
        for of, status in (("Golem", 404), ("a stone giant", 200)):
            response = self.get("one-of-mine", who="player", query={"of": of})
            assert status == response.status_code, of


class NowTest(WebTest):
    def test_all_at_a_glance(self) -> None:
        shown = text_of(self.get("now"))
        for text in ("Ada", "awake", self.ada.location.key, "tokens today"):
            assert text in shown

    def test_many_are_on_pages_and_found_by_name(self) -> None:
        self.make("Bea")
        self.post("stop", key="Ada")
        with patch.object(now, "AT_ONCE", 1), patch.object(forms, "AT_ONCE", 1):
            shown = [self.get("now", query=query) for query in ({}, {"after": 1}, {"name": "BE"})]
        cards = [re.findall(r'id="open-1" href="([^"]*)"', each.content.decode()) for each in shown]
        ada, bea = (self.address("live", key=key) for key in ("Ada", "Bea"))
        assert [[ada], [bea], [bea]] == cards
        more = ['id="more"' in each.content.decode() for each in shown]
        assert [True, False, False] == more
        for each in shown:
            assert "Stop all" in text_of(each)
            assert "Clear all" in text_of(each)
        assert "none has such a name" in text_of(self.get("now", query={"name": "x"}))
        button = re.search(r'id="stop-1" formaction="([^"]*)"', shown[2].content.decode())
        assert button is not None
        pressed = self.client_of("owner").post(html.unescape(button[1]))
        assert f"{self.address('now')}?name=BE" == pressed["Location"]

    def test_what_was_heard_last(self) -> None:
        self.ask("say Ada, hello there", says("Hello."))
        rest = self.get("now").content.decode().partition('<p class="words">')[2]
        assert "Tom spoke to me &quot;Ada, hello there&quot;" in rest.partition("</p>")[0]

    def test_stop_and_clear(self) -> None:
        shown = text_of(self.post("stop", {"reason": "it rants"}, key="Ada"))
        assert emergency.is_stopped(self.ada_script)
        assert "Ada is stopped." in shown
        assert "it rants" in shown
        shown = text_of(self.post("clear", key="Ada"))
        assert not emergency.is_stopped(self.ada_script)
        assert "Ada" in shown

    def test_stop_all_leaves_out_those_of_others(self) -> None:
        response = self.post("stop-all", who="builder")
        assert 403 == response.status_code
        assert not emergency.is_stopped(self.ada_script)
        self.post("stop-all", who="controller")
        assert emergency.is_stopped(self.ada_script)

    def test_those_of_others_are_named(self) -> None:
        script, body = self.make("Bea")
        body.locks.add("ai_control:perm(Admin)")
        for button in ("stop-all", "clear-all"):
            assert "Not yours: Bea." in text_of(self.post(button, who="controller"))
            assert "Not yours" not in text_of(self.post(button))
        self.post("stop-all", who="controller")
        assert not emergency.is_stopped(script)

    def test_what_is_said_names_no_command(self) -> None:
        """Pages have buttons; only the typed command names the next command."""
        for button, text in (
            ("stop-all", "One assistant is stopped, also across restarts."),
            ("stop", "Ada is already stopped."),
            ("clear", "Ada: "),
            ("stop", "It stays stopped across restarts."),
            ("clear", "Ada: "),
            ("silence", "Ada is silent."),
        ):
            path = {} if button == "stop-all" else {"key": "Ada"}
            shown = text_of(self.post(button, **path))
            assert text in shown
            for word in ("assistant emergency", "assistant start", "until:"):
                assert word not in shown
        operations.set_enabled(self.ada_script, True)
        typed = operations.set_enabled(self.ada_script, False)
        assert "Ada is silent. To let it answer: assistant start Ada" == typed.message

    def test_silence_and_start(self) -> None:
        self.post("silence", key="Ada")
        assert not state.read(self.ada_script, "enabled")
        self.post("start", key="Ada")
        assert state.read(self.ada_script, "enabled")

    def test_what_is_refused_is_said_on_the_page(self) -> None:
        response = self.post("start", key="Ada")
        assert 400 == response.status_code
        assert "Ada is already awake." in text_of(response)
