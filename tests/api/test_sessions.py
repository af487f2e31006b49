"""Requests to the API write no session, and the website's logins are unaffected."""

from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session

from tests.api.support import ApiTest

COOKIE = settings.SESSION_COOKIE_NAME
WRITES = ("INSERT", "UPDATE", "DELETE")


class TestSessionsAreOnlyRead(ApiTest):
    """With all the middleware of a real game."""

    def wrote(self, **options: Any) -> list[str]:
        """Return the statements of a request that write into the table of sessions."""
        with self.statements() as queries:
            self.call("GET", "health/", **options)
        statements = [query["sql"] for query in queries]
        return [sql for sql in statements if sql.startswith(WRITES) and "django_session" in sql]

    def test_hole_c16_requests_without_a_cookie_write_no_session(self) -> None:
        sent = {"headers": {"authorization": self.token_of(self.people["admin"])}}
        for number in range(50):
            client = self.client_of(None)
            path = "assistants/" if number % 2 else "health/"
            response = self.call("GET", path, client=client, **sent if number % 2 else {})
            assert (200, {}) == (response.status_code, dict(response.cookies))
        assert 0 == Session.objects.count()

    def test_hole_c16_a_cookie_of_no_session_writes_none_either(self) -> None:
        for value in ("made-up", "x" * 32, ""):
            client = self.client_of(None)
            client.cookies[COOKIE] = value
            assert [] == self.wrote(client=client)
        assert 0 == Session.objects.count()

    def test_hole_c16_a_login_is_read_and_not_written(self) -> None:
        """Evennia counts requests in the session; requests to the API are not among them."""
        client = self.client_of(self.account)
        client.get("/")
        before = Session.objects.get().session_data
        assert [] == self.wrote(client=client)
        assert 200 == self.call("GET", "assistants/", client=client).status_code
        assert before == Session.objects.get().session_data

    def test_who_is_logged_in_on_the_webclient_only_may_ask(self) -> None:
        """Evennia shares the login of the webclient with the website."""
        client = self.client_of(None)
        client.get("/")
        session = client.session
        session["webclient_authenticated_uid"] = self.account.pk
        session.save()
        assert 200 == self.call("GET", "assistants/", client=client).status_code

    def test_the_website_keeps_its_sessions(self) -> None:
        client = self.client_of(None)
        client.get("/")
        assert 1 == Session.objects.count()
