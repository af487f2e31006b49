"""The check of the database, which is skipped where nothing has changed since the last one."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from server.play import database_url, ports, prepared
from server.play.game import World
from server.play.layout import Checkout

OPENINGS = ports.Openings(ports.DEFAULTS)
ENVIRON = {"EVENNIA_AI_MODEL": "scripted"}
TABLES = """
CREATE TABLE django_migrations (app, name);
INSERT INTO django_migrations VALUES ('evennia_ai', '0001');
CREATE TABLE accounts_accountdb (id, username);
INSERT INTO accounts_accountdb VALUES (1, 'admin');
CREATE TABLE server_serverconfig (db_key, db_value);
INSERT INTO server_serverconfig VALUES ('last_initial_setup_step', 'done');
CREATE TABLE typeclasses_tag (id, db_key, db_category);
INSERT INTO typeclasses_tag VALUES (7, 'ada', 'lantern_library');
CREATE TABLE objects_objectdb_db_tags (objectdb_id, tag_id);
INSERT INTO objects_objectdb_db_tags VALUES (3, 7);
CREATE TABLE objects_objectdb (id, db_key);
"""
PACKAGES = ".venv/lib/python3.11/site-packages"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A game with some code, one package, and a database."""
    for name in (*prepared.CODE, "server/.static", f"{PACKAGES}/evennia-5.0.1.dist-info"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "world/library.py").write_text("PLACES = ()\n")
    with closing(sqlite3.connect(tmp_path / "server/evennia.db3")) as database:
        database.executescript(TABLES)
    return Checkout(tmp_path)


@pytest.fixture
def world(checkout: Checkout) -> World:
    """The result of the last check."""
    return World(
        admin="admin",
        is_new=True,
        summary="The Lantern Library has 5 rooms and 2 assistants (made now: 36).",
        openings=OPENINGS,
        portal_command=["twistd", "portal"],
        server_command=["twistd", "server"],
        database=str(checkout.server / "evennia.db3"),
        static=str(checkout.server / ".static"),
    )


def change(sql: str) -> Callable[[Checkout], object]:
    """Run SQL on the game's database."""

    def act(checkout: Checkout) -> None:
        with closing(sqlite3.connect(checkout.server / "evennia.db3")) as database:
            database.executescript(sql)

    return act


def test_a_database_as_it_was_left_is_not_looked_into(checkout: Checkout, world: World) -> None:
    """The saved world is returned, but its owner is no longer new."""
    prepared.save(checkout, OPENINGS, world, ENVIRON)
    assert replace(world, is_new=False) == prepared.load(checkout, OPENINGS, ENVIRON)


@pytest.mark.parametrize(
    "happens",
    [
        change("INSERT INTO objects_objectdb VALUES (99, 'a sword')"),
        change("INSERT INTO server_serverconfig VALUES ('runtime', '12')"),
        lambda checkout: (checkout.root / "world/__pycache__").mkdir(),
    ],
    ids=["an object", "a restart", "bytecode"],
)
def test_what_players_do_counts_for_nothing(
    checkout: Checkout, world: World, happens: Callable[[Checkout], object]
) -> None:
    prepared.save(checkout, OPENINGS, world, ENVIRON)
    happens(checkout)
    assert prepared.load(checkout, OPENINGS, ENVIRON) is not None


@pytest.mark.parametrize(
    "happens",
    [
        change("DELETE FROM django_migrations"),
        change("UPDATE accounts_accountdb SET username = 'keeper'"),
        change("DELETE FROM server_serverconfig"),
        change("DELETE FROM objects_objectdb_db_tags"),
        change("DROP TABLE typeclasses_tag"),
        lambda checkout: (checkout.server / "evennia.db3").unlink(),
        lambda checkout: (checkout.server / ".static").rmdir(),
        lambda checkout: (checkout.root / "world/library.py").write_text("PLACES = (1,)\n"),
        lambda checkout: (checkout.root / "evennia_ai/new.py").touch(),
        lambda checkout: (checkout.root / "server/conf/secret_settings.py").touch(),
        lambda checkout: os.utime(checkout.root / "world/library.py", (1, 1)),
        lambda checkout: (checkout.root / PACKAGES / "django-5.2.dist-info").mkdir(),
        lambda checkout: (checkout.server / ".play.prepared.json").write_text("{"),
        lambda checkout: (checkout.server / ".play.prepared.json").unlink(),
        lambda checkout: database_url.store(checkout.server, "postgresql://me@localhost/game"),
    ],
    ids=[
        "a migration is missing",
        "another owner",
        "never started",
        "something of the world is gone",
        "no such table",
        "no database",
        "no files of web pages",
        "the world is written anew",
        "new code",
        "new settings",
        "code of another time",
        "another package",
        "a damaged note",
        "no note",
        "another database",
    ],
)
def test_what_the_look_depends_on_is_looked_at_again(
    checkout: Checkout, world: World, happens: Callable[[Checkout], object]
) -> None:
    prepared.save(checkout, OPENINGS, world, ENVIRON)
    happens(checkout)
    assert prepared.load(checkout, OPENINGS, ENVIRON) is None


def test_other_openings_and_variables_are_looked_at_again(checkout: Checkout, world: World) -> None:
    """Variables that the settings read count; secrets and passwords are in no digest."""
    prepared.save(checkout, OPENINGS, world, ENVIRON)
    elsewhere = ports.Openings({**ports.DEFAULTS, "WEB_PORT": 5001})
    secret = {**ENVIRON, "EVENNIA_SUPERUSER_PASSWORD": "a-b-c", "EVENNIA_AI_API_KEY": "x"}
    assert prepared.load(checkout, elsewhere, ENVIRON) is None
    assert prepared.load(checkout, OPENINGS, {"EVENNIA_AI_MODEL": "other"}) is None
    assert prepared.load(checkout, OPENINGS, secret) is not None


def test_what_may_turn_out_otherwise_is_not_remembered(checkout: Checkout, world: World) -> None:
    """These are never skipped: an incomplete world, another database, an editable Evennia."""
    left_out = replace(world, summary=f"{world.summary} ada is not there: the owner is Ada.")
    edited = checkout.root / PACKAGES / "evennia-5.0.1.dist-info/direct_url.json"
    for each in (left_out, replace(world, database="")):
        prepared.save(checkout, OPENINGS, world, ENVIRON)
        prepared.save(checkout, OPENINGS, each, ENVIRON)
        assert prepared.load(checkout, OPENINGS, ENVIRON) is None
    edited.write_text("{}")
    prepared.save(checkout, OPENINGS, world, ENVIRON)
    assert prepared.load(checkout, OPENINGS, ENVIRON) is None
