"""Authentication: sessions and CSRF, tokens, and accounts that may not ask."""

import re
from typing import Any

from django.conf import settings
from django.test.utils import override_settings
from evennia.server.models import ServerConfig

from evennia_ai.models import AccessToken
from evennia_ai.runtime import state
from tests.api.support import ApiTest
from tests.game.support import PASSWORD, account_with

LOGIN = {"username": "berit", "password": PASSWORD}
GOAL = {"text": "Find the lost atlas."}


class TestSessions(ApiTest):
    def test_a_change_needs_the_csrf_token(self) -> None:
        client = self.client_of(self.account, checks_csrf=True)
        assert 200 == self.call("GET", "assistants/", client=client).status_code
        for headers in ({}, {"x-csrftoken": "a" * 32}):
            error = self.fault(403, "POST", "assistants/Ada/stop/", client=client, headers=headers)
            assert "CSRF" in error["message"]
        assert state.read(self.ada_script, "enabled")

    def test_with_the_csrf_token_it_is_done(self) -> None:
        client = self.client_of(self.account, checks_csrf=True)
        secret = "a" * 32
        client.cookies[settings.CSRF_COOKIE_NAME] = secret
        headers = {"x-csrftoken": secret}
        done = self.call("POST", "assistants/Ada/stop/", client=client, headers=headers)
        assert 200 == done.status_code
        assert not state.read(self.ada_script, "enabled")

    def test_who_is_not_logged_in_is_told_what_to_send(self) -> None:
        response = self.call("GET", "assistants/", who=None)
        assert (401, "Token") == (response.status_code, response.headers["WWW-Authenticate"])
        message = "Authentication is required: log in, or send a token."
        assert message == response.told["error"]["message"]


class TestTokens(ApiTest):
    def ask(self, body: Any = LOGIN, **options: Any) -> Any:
        return self.call("POST", "token/", body, who=None, **options)

    def sent(self, token: str, method: str = "GET", path: str = "assistants/") -> Any:
        client = self.client_of(None, checks_csrf=True)
        return self.call(method, path, client=client, headers={"authorization": token})

    def test_a_token_is_got_and_used(self) -> None:
        token = self.ask().told["token"]
        assert re.fullmatch(r"eai_[\w-]{43}", token)
        assert token != self.ask().told["token"]
        for word in ("Token", "Bearer", "bearer"):
            assert 200 == self.sent(f"{word} {token}").status_code
        assert 200 == self.sent(f"Token {token}", "POST", "assistants/Ada/stop/").status_code

    def test_a_token_that_is_given_back_is_worth_nothing(self) -> None:
        token = self.ask().told["token"]
        assert 204 == self.sent(f"Token {token}", "DELETE", "token/").status_code
        assert 401 == self.sent(f"Token {token}").status_code
        assert token != self.ask().told["token"]

    def test_what_is_no_token_is_refused(self) -> None:
        for token in (
            "Token",
            "Token a b",
            "Token " + "0" * 40,
            "Token " + "a" * 10_000,
            "Token ä",
            "Token \x7f",
            "token x",
            "Bearer",
            "Bearer x",
        ):
            with self.subTest(token[:20]):
                response = self.sent(token)
                assert 401 == response.status_code
                assert "unauthenticated" == response.told["error"]["code"]
                assert 401 == self.sent(token, path="health/").status_code
        assert 401 == self.sent("Basic YTpi").status_code

    def test_a_wrong_name_or_password_gets_none(self) -> None:
        wrong = [self.ask(LOGIN | {"password": "wrong"}), self.ask(LOGIN | {"username": "nobody"})]
        assert [401, 401] == [response.status_code for response in wrong]
        assert "The name or the password is wrong." == wrong[0].told["error"]["message"]
        assert wrong[0].told == wrong[1].told
        assert 403 == self.ask(LOGIN | {"username": "Gast"}).status_code
        for body in ({}, {"username": "berit"}, LOGIN | {"username": "a\nb"}, LOGIN | {"x": 1}):
            assert 400 == self.ask(body).status_code

    def test_an_assistant_gets_none(self) -> None:
        """An assistant's account has no password. A token that somebody made for it is refused."""
        account = account_with("Adas", "Developer")
        account.attributes.add("assistant_body", self.ada)
        error = self.sent(self.token_of(account)).told["error"]
        assert "Assistants may not do this from the web." == error["message"]

    def test_wrong_tries_are_counted_by_name(self) -> None:
        """One name may be tried from all addresses together ten times as often as from one."""
        config = {"tokens_per_minute": 1}
        with override_settings(EVENNIA_AI_API_CONFIG=config):
            wrong = LOGIN | {"password": "wrong"}
            statuses = [
                self.ask(wrong, REMOTE_ADDR=f"10.0.0.{number}").status_code for number in range(11)
            ]
            assert [*[401] * 10, 429] == statuses
            blocked = self.ask(LOGIN, REMOTE_ADDR="10.0.1.9")
            assert 429 == blocked.status_code
            assert 0 < int(blocked.headers["Retry-After"]) <= 60
            other = {"username": "Bo", "password": PASSWORD}
            assert 200 == self.ask(other, REMOTE_ADDR="10.0.1.10").status_code


class TestAccounts(ApiTest):
    def test_an_account_that_is_switched_off(self) -> None:
        berit = self.people["builder with control"]
        client, token = self.client_of(berit), self.token_of(berit)
        berit.is_active = False
        berit.save()
        assert 401 == self.call("GET", "assistants/", client=client).status_code
        sent = {"headers": {"authorization": token}}
        assert 401 == self.call("GET", "assistants/", who=None, **sent).status_code
        assert 401 == self.call("POST", "token/", LOGIN, who=None).status_code

    def test_a_banned_account(self) -> None:
        """A ban by name or by address holds here as at the game's own login."""
        bans = [("berit", "", "", "now", "a test")]
        ServerConfig.objects.conf("server_bans", bans)
        error = self.fault(403, "GET", "assistants/", who="builder with control")
        assert "You are banned from this game." == error["message"]
        assert 401 == self.call("POST", "token/", LOGIN, who=None).status_code
        bans = [("", "10.0.0.7", re.compile(r"10\.0\.0\.\d+"), "now", "a test")]
        ServerConfig.objects.conf("server_bans", bans)
        self.fault(403, "GET", "assistants/", REMOTE_ADDR="10.0.0.7")
        self.get("assistants/", REMOTE_ADDR="10.0.1.7")

    def test_a_deleted_account(self) -> None:
        token = self.token_of(self.people["builder"])
        self.people["builder"].delete()
        sent = {"headers": {"authorization": token}}
        assert 401 == self.call("GET", "assistants/", who=None, **sent).status_code
        assert not AccessToken.objects.exists()

    def test_who_is_quelled_has_the_rights_of_their_character(self) -> None:
        """As in the game: a quelled superuser has only the rights of the character."""
        self.char1.permissions.clear()
        self.char1.permissions.add("Player")
        self.account.permissions.add("Developer")
        self.get("assistants/")
        self.account.attributes.add("_quell", True)
        self.account.locks.cache_lock_bypass(self.account)
        self.char1.locks.cache_lock_bypass(self.char1)
        self.fault(403, "GET", "assistants/")


class TestWithoutTokens(ApiTest):
    def test_sessions_work_and_tokens_are_said_to_be_missing(self) -> None:
        with override_settings(EVENNIA_AI_API_CONFIG={"token_days": 0}):
            self.get("assistants/")
            response = self.call("GET", "assistants/", who=None)
            assert (401, "Session") == (response.status_code, response.headers["WWW-Authenticate"])
            error = self.fault(404, "POST", "token/", LOGIN, who=None)
        assert "token_days in EVENNIA_AI_API_CONFIG is 0" in error["message"]

    def test_the_old_app_is_not_needed(self) -> None:
        """Tokens have a table of their own, not that of `rest_framework.authtoken`."""
        others = [name for name in settings.INSTALLED_APPS if name != "rest_framework.authtoken"]
        with override_settings(INSTALLED_APPS=others):
            token = self.call("POST", "token/", LOGIN, who=None).told["token"]
            sent = {"headers": {"authorization": f"Token {token}"}}
            assert 200 == self.call("GET", "assistants/", who=None, **sent).status_code
            assert 204 == self.call("DELETE", "token/", who=None, **sent).status_code
