"""The empty database as SQL, so that a new game need not run years of migrations.

There is a template for each supported Django. It is used for a new database only if the key in its
first line matches the migrations, models and settings of this game; else Django migrates as usual.
`python -m server.play.template` writes the template for the environment that it runs in.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection

FOLDER = Path(__file__).with_name("templates")
KEY_MARK = "-- for "
# Settings that a migration, or Django's post-migrate step, depends on.
SETTINGS = ("DEFAULT_AUTO_FIELD", "MIGRATION_MODULES", "SITE_ID", "AUTH_USER_MODEL", "USE_TZ")
TYPECLASSES = re.compile(r"BASE_\w+_TYPECLASS")
# The times of migrations are the only content of an empty database that differs each time.
APPLIED = re.compile(
    r"^(INSERT INTO \"django_migrations\" .*,)'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]*'\);$",
    re.MULTILINE,
)
NOW = r"\1strftime('%Y-%m-%d %H:%M:%f', 'now'));"


def file_for(django_version: tuple[object, ...], folder: Path = FOLDER) -> Path:
    """Return the path of the template for a Django, such as `(5, 2, 19)`; it may not exist."""
    return folder / f"django-{django_version[0]}.{django_version[1]}.sql"


def key() -> str:
    """Return a digest of everything that decides the result of `migrate`. Needs Django set up."""
    digest = hashlib.sha256(f"Django {django.VERSION[:2]}".encode())
    for name in sorted({*SETTINGS, *filter(TYPECLASSES.fullmatch, dir(settings))}):
        digest.update(f"{name}={getattr(settings, name)!r}\n".encode())
    for app in apps.get_app_configs():
        digest.update(f"{app.label}\n".encode())
        for path in sorted(Path(app.path).glob("migrations/*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    for model in apps.get_models(include_auto_created=True):
        meta = model._meta
        rights = (meta.default_permissions, sorted(meta.permissions), str(meta.verbose_name_raw))
        digest.update(f"{meta.label} {meta.proxy} {meta.managed} {rights}\n".encode())
    return digest.hexdigest()


def is_applied(database: Mapping[str, object], folder: Path = FOLDER) -> bool:
    """Make Django's default database from its template; return False if Django has to migrate.

    Args:
        database: its entry in Django's settings.
        folder: the folder of the templates.
    """
    if not str(database["ENGINE"]).endswith("sqlite3"):
        return False
    return apply(Path(str(database["NAME"])), file_for(django.VERSION, folder), key())


def apply(database: Path, template: Path, wanted: str) -> bool:
    """Fill an empty database from a template; return whether that was done.

    Nothing is done if there is no template, if its key is not `wanted`, if it is damaged, or if the
    database is not empty.
    """
    try:
        first, _, script = template.read_text(encoding="utf-8").partition("\n")
    except OSError:
        return False
    if first != KEY_MARK + wanted:
        return False
    with closing(sqlite3.connect(database)) as connection:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return False
        try:
            # The script is one transaction, so a damaged one leaves nothing behind.
            connection.executescript(script)
        except sqlite3.Error:
            return False
        return not connection.in_transaction


def write(template: Path) -> None:
    """Write the template for the environment that this runs in, from the result of `migrate`.

    Args:
        template: the file; old content is replaced.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.conf.settings")
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "empty.db3"
        settings.DATABASES["default"]["NAME"] = str(database)
        django.setup()
        made_for = key()
        call_command("migrate", interactive=False, verbosity=0)
        connection.close()
        with closing(sqlite3.connect(database)) as made:
            script = "\n".join(made.iterdump())
    template.parent.mkdir(exist_ok=True)
    text = f"{KEY_MARK}{made_for}\n{APPLIED.sub(NOW, script)}\n"
    template.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(file_for(django.VERSION))
