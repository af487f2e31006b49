"""The template of the empty database, which must equal the result of `migrate`."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import django
import pytest

from server.play import template
from tests.play.copies import ROOT, Copy

pytestmark = pytest.mark.xdist_group("play")

MIGRATE = """
import sys, django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
django.setup()
from server.play import template
print(template.key())
from django.core.management import call_command
call_command("migrate", interactive=False, verbosity=0)
"""
SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
RENEW = "the template is not of today's migrations: python -m server.play.template renews it"
LATER = """from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("evennia_ai", "{last}")]
"""


def contents(path: Path) -> dict[str, object]:
    """The schema of a database, and all rows but the times of the migrations."""
    with closing(sqlite3.connect(path)) as database:
        schema = database.execute(SCHEMA).fetchall()
        tables = [name for kind, name, _, _ in schema if kind == "table"]
        rows = {name: sorted(database.execute(f'SELECT * FROM "{name}"')) for name in tables}
    rows["django_migrations"] = [row[:3] for row in rows["django_migrations"]]
    return {"schema": schema, **rows}


def test_a_template_makes_what_migrate_makes(tmp_path: Path) -> None:
    migrated, applied = tmp_path / "migrated.db3", tmp_path / "applied.db3"
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "server.conf.settings"}
    command = [sys.executable, "-c", MIGRATE, str(migrated)]
    key = subprocess.check_output(command, cwd=ROOT, env=environ, text=True).strip()
    assert template.apply(applied, template.file_for(django.VERSION), key), RENEW
    assert contents(migrated) == contents(applied)


def test_a_stale_template_is_not_used(tmp_path: Path) -> None:
    """With a migration that the template lacks, Django migrates."""
    last = max(path.stem for path in (ROOT / "evennia_ai/migrations").glob("0*.py"))
    with Copy.make(tmp_path / "checkout") as copy:
        copy.path("evennia_ai/migrations/9999_later.py").write_text(LATER.format(last=last))
        copy.path("server/logs").mkdir()
        command = [sys.executable, "-m", "server.play.database", str(copy.root)]
        subprocess.run(command, cwd=copy.root, env=copy.env, check=True, capture_output=True)
        rows = contents(copy.path("server/evennia.db3"))["django_migrations"]
    assert isinstance(rows, list)
    assert ("evennia_ai", "9999_later") in [row[1:3] for row in rows]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A template of one table, for the key `right`."""
    path = tmp_path / "template.sql"
    path.write_text("-- for right\nBEGIN TRANSACTION;\nCREATE TABLE lamp (oil);\nCOMMIT;\n")
    return path


def tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute("SELECT name FROM sqlite_master")]


def test_a_template_is_for_one_key(written: Path, tmp_path: Path) -> None:
    database = tmp_path / "game.db3"
    assert not template.apply(database, written, "wrong")
    assert not database.exists()
    assert template.apply(database, written, "right")
    assert ["lamp"] == tables(database)


def test_a_database_with_anything_in_it_is_left_alone(written: Path, tmp_path: Path) -> None:
    """A game in use is migrated, never made anew."""
    database = tmp_path / "game.db3"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE treasure (gold)")
    assert not template.apply(database, written, "right")
    assert ["treasure"] == tables(database)


@pytest.mark.parametrize("damage", ["CREATE TABLE lamp (oil);\nCOMMIT;\n", "COMMIT;\n"])
def test_a_damaged_template_leaves_nothing(written: Path, tmp_path: Path, damage: str) -> None:
    """A statement that fails and a missing end both leave the database empty."""
    text = written.read_text()
    broken = {"COMMIT;\n": ""}.get(damage, "CREATE TABLE lamp (oil);\nCREATE lamp;\nCOMMIT;\n")
    written.write_text(text.replace(damage, broken))
    database = tmp_path / "game.db3"
    assert not template.apply(database, written, "right")
    assert [] == tables(database)


def test_without_a_template_django_migrates(tmp_path: Path) -> None:
    """A Django without a template and a database of another kind are no errors."""
    assert not template.apply(tmp_path / "game.db3", tmp_path / "nothing.sql", "right")
    engine = {"ENGINE": "django.db.backends.postgresql", "NAME": "game"}
    assert not template.is_applied(engine, tmp_path)
