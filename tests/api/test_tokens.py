"""Tokens: hashed, ended by passwords, bans and time, and revoked by their owners."""

from typing import Any
from unittest import mock

from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.db import connection
from django.test.utils import override_settings
from evennia.accounts.models import AccountDB
from evennia.server.models import ServerConfig
from rest_framework.authtoken.models import Token

from evennia_ai.commands import AssistantCmdSet
from evennia_ai.models import AccessToken
from evennia_ai.operations.rights import token_store
from evennia_ai.runtime import state
from tests.api.support import ApiTest
from tests.game.support import PASSWORD

BERIT = "builder with control"
# As after an update of Django: a new default hasher, and the old one for existing passwords.
HASHERS = "django.contrib.auth.hashers."
NEWER_FORM = [f"{HASHERS}PBKDF2PasswordHasher", f"{HASHERS}MD5PasswordHasher"]
LOGIN = {"username": "Berit", "password": PASSWORD}


class TokenTest(ApiTest):
    """Berit has a token, which she got by her password."""

    def setUp(self) -> None:
        super().setUp()
        self.berit = self.people[BERIT]
        self.token = self.new(name="backup")

    def new(self, **more: Any) -> str:
        with override_settings(EVENNIA_AI_API_CONFIG={"tokens_per_minute": 0}):
            response = self.call("POST", "token/", LOGIN | more, who=None)
        return str(response.told["token"])

    def status(self, token: str = "", method: str = "GET", path: str = "assistants/") -> int:
        headers = {"authorization": f"Token {token or self.token}"}
        return int(self.call(method, path, who=None, headers=headers).status_code)

    def listed(self, who: Any = BERIT, path: str = "tokens/") -> list[dict[str, Any]]:
        return self.get(path, who=who)["tokens"]


class TestStored(TokenTest):
    def test_hole_c14_the_token_stands_nowhere(self) -> None:
        """No column of any table has more of it than its first characters."""
        Token.objects.create(user=self.people["builder"], key="b" * 40)
        with connection.cursor() as cursor:
            for table in connection.introspection.table_names(cursor):
                cursor.execute(f'SELECT * FROM "{table}"')
                text = repr(cursor.fetchall())
                assert self.token[4:20] not in text, table
                assert "b" * 40 not in text, table
        assert 200 == self.status() == self.status("b" * 40)

    def test_hole_c14_its_use_is_written_once_an_hour(self) -> None:
        """The time of the last use must not cost a write for each request."""
        assert 200 == self.status()
        assert self.listed()[0]["used_at"]
        with self.statements() as second:
            assert 200 == self.status()
        written = [q["sql"] for q in second if q["sql"].startswith(("UPDATE", "INSERT"))]
        assert not [sql for sql in written if "accesstoken" in sql]
        AccessToken.objects.update(used_at=token_store.now() - 3601)
        assert 200 == self.status()
        assert token_store.now() - 5 <= AccessToken.objects.get(name="backup").used_at


class TestScopes(TokenTest):
    def test_a_token_that_reads_changes_nothing(self) -> None:
        token = self.new(scope="read")
        headers = {"authorization": f"Token {token}"}
        assert 200 == self.status(token, path="assistants/Ada/status/")
        for method, path, body in (
            ("POST", "assistants/Ada/stop/", {}),
            ("PATCH", "assistants/Ada/configuration/", {"tick_rate": 9}),
            ("DELETE", "tokens/", None),
        ):
            error = self.fault(403, method, path, body, who=None, headers=headers)
            assert "read-only" in error["message"]
        assert state.read(self.ada_script, "enabled")
        assert 204 == self.status(token, "DELETE", "token/")
        assert 401 == self.status(token)

    def test_a_token_that_reads_reveals_nothing(self) -> None:
        """`reveal` shows private words, so a read-only token may not ask for it."""
        headers = {"authorization": f"Token {self.new(scope='read')}"}
        path = "assistants/Ada/history/?reveal=true"
        error = self.fault(403, "GET", path, who=None, headers=headers)
        assert "reveal" in error["message"]
        assert 200 == self.status(path=path)

    def test_the_others_change_what_their_account_may(self) -> None:
        """Tokens from before scopes existed have the scope `usual` and work as ever."""
        AccessToken.objects.filter(name="backup").update(scope="usual")
        for token, word in ((self.token, "stop"), (self.new(scope="write"), "start")):
            assert 200 == self.status(token, "POST", f"assistants/Ada/{word}/")

    def test_each_is_listed_with_its_scope(self) -> None:
        self.new(name="eyes", scope="read")
        assert {"backup": "usual", "eyes": "read"} == {
            row["name"]: row["scope"] for row in self.listed()
        }
        error = self.fault(400, "POST", "token/", LOGIN | {"scope": "all"}, who=None)
        assert "read, usual, write" in error["message"]


class TestEnds(TokenTest):
    def test_hole_c14_it_ends_with_the_password(self) -> None:
        """Another program may change the row behind the game's cached account."""
        self.berit.set_password("another-lantern")
        self.berit.save()
        assert 401 == self.status()
        login = LOGIN | {"password": "another-lantern"}
        token = self.call("POST", "token/", login, who=None).told["token"]
        assert 200 == self.status(token)
        with connection.cursor() as cursor:
            stored = "UPDATE accounts_accountdb SET password = 'md5$x$y' WHERE id = %s"
            cursor.execute(stored, [self.berit.pk])
        assert 401 == self.status(token)
        assert not AccessToken.objects.filter(account_id=self.berit.pk).exists()

    def test_it_outlasts_a_newer_form_of_the_same_password(self) -> None:
        """At a login, Django rehashes the password with a newer hasher after an update."""
        with override_settings(PASSWORD_HASHERS=NEWER_FORM):
            token = self.new(name="after the update")
        assert 200 == self.status() == self.status(token)
        stored = AccountDB.objects.values_list("password", flat=True).get(pk=self.berit.pk)
        assert "pbkdf2_sha256" == stored.partition("$")[0]

    def test_a_new_password_in_a_newer_form_ends_it(self) -> None:
        with override_settings(PASSWORD_HASHERS=NEWER_FORM):
            self.berit.set_password("another-lantern")
            self.berit.save(update_fields=["password"])
        assert 401 == self.status()

    def test_a_password_that_is_put_in_place_ends_it(self) -> None:
        """Only Django's own rehashing at a login counts as the same password."""
        with override_settings(PASSWORD_HASHERS=NEWER_FORM):
            self.berit.password = make_password("another-lantern")
            self.berit.save(update_fields=["password"])
        assert 401 == self.status()

    def test_a_password_that_is_taken_away_ends_it(self) -> None:
        with override_settings(PASSWORD_HASHERS=NEWER_FORM):
            self.berit.set_unusable_password()
            self.berit.save(update_fields=["password"])
        assert 401 == self.status()

    def test_hole_c14_it_ends_with_a_ban(self) -> None:
        """The token stays revoked after the ban is lifted; those of others go on."""
        other = self.token_of(self.people["admin"]).split()[1]
        ServerConfig.objects.conf("server_bans", [("berit", "", "", "now", "a test")])
        assert [other[:8]] == list(AccessToken.objects.values_list("begins", flat=True))
        ServerConfig.objects.conf("server_bans", [])
        assert 401 == self.status()
        assert 200 == self.status(other)

    def test_hole_c14_it_ends_with_an_account_that_is_switched_off(self) -> None:
        """The token stays revoked after the account is active again."""
        for is_active in (False, True):
            self.berit.is_active = is_active
            self.berit.save()
        assert 401 == self.status()

    def test_an_account_that_another_program_switched_off(self) -> None:
        """The row in the database counts, not the game's cached account."""
        AccountDB.objects.filter(pk=self.berit.pk).update(is_active=False)
        assert 401 == self.status()

    def test_hole_c14_it_ends_with_its_time(self) -> None:
        row = AccessToken.objects.get(name="backup")
        assert 90 * 86_400 == row.ends_at - row.made_at
        with override_settings(EVENNIA_AI_API_CONFIG={"token_days": 1}):
            self.call("POST", "token/", LOGIN, who=None)
        newest = AccessToken.objects.order_by("-pk")[0]
        assert 86_400 == newest.ends_at - newest.made_at
        AccessToken.objects.filter(name="backup").update(ends_at=token_store.now())
        assert 401 == self.status()
        assert not AccessToken.objects.filter(name="backup").exists()


class TestOwners(TokenTest):
    def test_hole_c14_they_are_listed_without_themselves(self) -> None:
        """The list has names, ends, and only the first characters of each token."""
        second = self.new()
        headers = {"authorization": f"Token {second}"}
        response = self.call("GET", "tokens/", who=None, headers=headers)
        assert ["", "backup"] == [row["name"] for row in response.told["tokens"]]
        assert [True, False] == [row["is_this"] for row in response.told["tokens"]]
        assert [second[:8], self.token[:8]] == [row["begins"] for row in response.told["tokens"]]
        assert second.encode() not in response.content

    def test_hole_c14_one_is_revoked_and_the_others_go_on(self) -> None:
        second, third = self.new(name="second"), self.new(name="third")
        number = next(row["number"] for row in self.listed() if row["name"] == "second")
        assert 200 == self.call("DELETE", f"tokens/{number}/", who=BERIT).status_code
        assert 404 == self.call("DELETE", f"tokens/{number}/", who=BERIT).status_code
        assert 204 == self.status(third, "DELETE", "token/")
        assert [401, 401, 200] == [self.status(each) for each in (second, third, self.token)]
        assert 1 == self.call("DELETE", "tokens/", who=BERIT).told["count"]
        assert 401 == self.status()

    def test_hole_c14_others_are_for_owners_of_the_game(self) -> None:
        """To anybody else the numbers of others' tokens look missing."""
        berit = f"tokens/?account=account-{self.berit.pk}"
        number = self.listed()[0]["number"]
        for who in ("builder", "player"):
            self.fault(403, "GET", berit, who=who)
            self.fault(403, "DELETE", berit, who=who)
            self.fault(404, "DELETE", f"tokens/{number}/", who=who)
        assert 200 == self.status()
        assert "backup" == self.listed("admin", berit)[0]["name"]
        assert 200 == self.call("DELETE", f"tokens/{number}/", who="admin").status_code
        assert 401 == self.status()
        self.fault(404, "GET", "tokens/?account=account-999999", who="admin")
        self.fault(404, "GET", "tokens/?account=object-1", who="admin")

    def test_the_one_that_was_unused_for_longest_makes_room(self) -> None:
        """A program that gets a token at each start is never refused, and keeps at most twenty."""
        assert 200 == self.status()
        AccessToken.objects.update(made_at=1, used_at=2)
        for _ in range(20):
            self.new()
        assert 20 == len(self.listed())
        assert 401 == self.status()

    def test_making_and_revoking_is_written_down_without_the_token(self) -> None:
        with self.audited() as lines:
            token = self.new(name="night watch")
            self.status(token, "DELETE", "token/")
        assert ["POST", "DELETE"] == [line["method"] for line in lines]
        assert token[4:] not in repr(lines)


class TestCommand(TokenTest):
    def typed(self, line: str) -> str:
        """Return the output of a line by Tom, a superuser who is online."""
        self.forget()
        self.tom.cmdset.add(AssistantCmdSet)
        self.type(self.tom, line)
        return "\n".join(self.tom.seen)

    def test_hole_c14_an_owner_sees_and_revokes_the_tokens_of_others(self) -> None:
        number = self.listed()[0]["number"]
        assert "'backup'" in self.typed("assistant token of berit")
        assert "no token of number" in self.typed("assistant token revoke 999999 of Berit")
        assert "no longer valid" in self.typed(f"assistant token revoke {number} of Berit")
        assert 401 == self.status()
        self.new()
        assert "Revoked 1 token of Berit" in self.typed("assistant token revoke all of Berit")
        assert "There is no account named Nobody." in self.typed("assistant token of Nobody")


class TestTakenOver(TokenTest):
    def insert(self, key: str) -> None:
        """Insert a token of Berit's as Django REST framework stores it."""
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO authtoken_token (key, user_id, created) VALUES (%s, %s, %s)",
                [key, self.berit.pk, "2026-01-01"],
            )

    def test_hole_c14_old_tokens_go_on_hashed_until_their_end(self) -> None:
        self.insert("c" * 40)
        for _ in range(2):
            call_command("migrate", verbosity=0)
            assert not Token.objects.exists()
            assert 200 == self.status("c" * 40)
        row = AccessToken.objects.get(name="from before")
        assert row.ends_at > token_store.now()
        AccessToken.objects.filter(pk=row.pk).update(ends_at=1)
        assert 401 == self.status("c" * 40)

    def test_one_that_was_not_moved_is_moved_by_its_first_use(self) -> None:
        """Another program may put a token there after `migrate`."""
        self.insert("d" * 40)
        assert 200 == self.status("d" * 40)
        assert not Token.objects.exists()

    def test_the_command_of_django_rest_framework_works_as_before(self) -> None:
        """The printed key is valid, and the plain row is gone."""
        with mock.patch("sys.stdout.write") as written:
            call_command("drf_create_token", "Berit")
        output = "".join(str(call.args[0]) for call in written.call_args_list)
        assert 200 == self.status(output.split()[2])
        assert not Token.objects.exists()

    def test_where_others_take_them_too_they_stay_there(self) -> None:
        """With `keeps_old_tokens` a token ends in both tables at once, whichever is used."""
        with override_settings(EVENNIA_AI_API_CONFIG={"keeps_old_tokens": True}):
            old = Token.objects.create(user=self.berit)
            assert [200, 204] == [self.status(old.key), self.status(old.key, "DELETE", "token/")]
            assert not Token.objects.exists()
            old = Token.objects.create(user=self.berit)
            key = old.key
            assert 200 == self.status(key)
            old.delete()
            assert 401 == self.status(key)
