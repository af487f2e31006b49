"""The pages as everybody may see them: at once, whole, and with nothing of anybody else's."""

from __future__ import annotations

from django.test import Client

from evennia_ai import emergency
from evennia_ai.runtime import state
from evennia_ai.web.tables import PAGES
from evennia_ai.web.views import POLICY
from tests.web.support import BACKEND, WebTest, text_of


class PagesTest(WebTest):
    """Addresses, logins and headers."""

    def test_who_is_not_logged_in_is_sent_to_the_login(self) -> None:
        """Every page without an account leads to the game's own login, and back."""
        for page in PAGES:
            address = self.address(page.name, **self.path_of(page.path))
            response = self.client_of("anonymous").get(address)
            assert 302 == response.status_code
            assert response["Location"].endswith(f"?next={address}")

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
        assert 403 == client.post(self.address("stop", key="Ada")).status_code
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
        assert "Ada is awake already." in text_of(response)
