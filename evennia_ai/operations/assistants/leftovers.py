"""Leftovers of this package in a game besides assistants: rows and files that name its classes.

Each of them would cause an error or a warning in the log once the package is uninstalled.
"""

from __future__ import annotations

import ast
import pickletools
import re
from base64 import b64decode
from binascii import Error as NotBase64Error
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.typeclasses.attributes import Attribute
from evennia.typeclasses.tags import Tag

from evennia_ai.approvals.store import COUNTER
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.typed_objects import Account, Being
from evennia_ai.memory.arriving import ARRIVING
from evennia_ai.operations.assistants.creation import remove_account
from evennia_ai.operations.naming import BODY_OF_ACCOUNT
from evennia_ai.runtime.tagged import ANY_TAG, TAG_CATEGORY

PACKAGE = "evennia_ai"
PATHS = f"{PACKAGE}."
EDITOR, EDITOR_SET = "_eveditor_saved", "evennia.utils.eveditor.EvEditorCmdSet"
# Attributes in which Evennia stores an open line editor, to open it again after a reload.
EDITOR_KEPT = (EDITOR, "_eveditor_buffer_temp", "_eveditor_unsaved", "_eveditor_indent")
MOST_FILES, MOST_PLACES = 5_000, 20
_ALL_VALUES = f"SELECT id, db_value FROM {Attribute._meta.db_table} WHERE db_value IS NOT NULL"
_TEXTS = ("SHORT_BINUNICODE", "BINUNICODE", "UNICODE")


# ---- finding -----------------------------------------------------------------------------------


def stray_scripts(known: list[AssistantScript]) -> list[Any]:
    """Scripts of ours that are not assistants, such as Evennia's `scripts` and `copy` make."""
    numbers = {script.pk for script in known}
    by_path = ScriptDB.objects.filter(db_typeclass_path__startswith=PATHS)
    scripts = {script.pk: script for script in (*AssistantScript.objects.all_family(), *by_path)}
    return [script for number, script in scripts.items() if number not in numbers]


def bodies() -> list[Any]:
    """Objects whose class is of this package, with or without an assistant in them."""
    return list(ObjectDB.objects.filter(db_typeclass_path__startswith=PATHS))


def accounts() -> list[Any]:
    """Accounts whose class is of this package, or that receive pages for an assistant."""
    ours = AccountDB.objects.filter(db_typeclass_path__startswith=PATHS)
    with_body = AccountDB.objects.filter(db_attributes__db_key=BODY_OF_ACCOUNT)
    return list({account.pk: account for account in (*ours, *with_body)}.values())


def with_our_command_sets() -> list[Any]:
    """Objects and accounts that store a command set of ours by its path."""
    return [
        being
        for model in (ObjectDB, AccountDB)
        for being in model.objects.filter(db_cmdset_storage__contains=PATHS)
    ]


def pickled() -> list[Attribute]:
    """Attributes whose pickled value refers to a class or a function of this package."""
    with connection.cursor() as cursor:
        # Raw SQL: Evennia's field would unpickle each value, and import whatever it refers to.
        cursor.execute(_ALL_VALUES)
        numbers = [number for number, value in _rows(cursor) if _names_us(value)]
    return list(Attribute.objects.filter(pk__in=numbers))


def _rows(cursor: CursorWrapper) -> Iterator[tuple[int, Any]]:
    while rows := cursor.fetchmany(1_000):
        yield from rows


def _names_us(value: str | bytes) -> bool:
    # A text that mentions the package does not count: only what unpickling would import.
    try:
        data = b64decode(value)
        if PACKAGE.encode() not in data:
            return False
        return any(f"{module}.".startswith(PATHS) for module in _modules(data))
    except (NotBase64Error, ValueError, TypeError):
        return False


def _modules(data: bytes) -> Iterator[str]:
    # STACK_GLOBAL takes module and name from the stack: the last two texts that were pushed. Where
    # the module comes from the pickle's memo instead, an earlier opcode has named it.
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            yield str(argument).partition(" ")[0]
        elif opcode.name == "STACK_GLOBAL":
            yield from texts[-2:-1]
        elif opcode.name in _TEXTS:
            texts.append(str(argument))


def holder_of(attribute: Attribute) -> Any:
    """The being that has an attribute, or None."""
    for names in ("objectdb_set", "accountdb_set", "scriptdb_set", "channeldb_set"):
        holders = getattr(attribute, names, None)
        if holders is not None and (being := holders.first()) is not None:
            return being
    return None


def tags() -> Any:
    """Tags of assistants that no longer exist."""
    ours = Tag.objects.filter(db_key__startswith=ANY_TAG, db_category=TAG_CATEGORY)
    return ours.filter(scriptdb__isnull=True)


def places_in_files() -> list[str]:
    """Lines of the game's Python files that need this package: "server/conf/settings.py:12".

    These name the package, one of its settings, or something imported from it.
    """
    root, mentions = Path(settings.GAME_DIR), list[str]()
    for path in islice(_sources(root), MOST_FILES):
        try:
            text = path.read_text("utf-8", "replace")
        except OSError:
            continue
        ours = re.compile("|".join([f"(?i:{PACKAGE})", *_imported_in(text)]))
        for number, line in enumerate(text.splitlines(), 1):
            if ours.search(line):
                mentions.append(f"{path.relative_to(root)}:{number}")
    return mentions[:MOST_PLACES]


def _imported_in(text: str) -> Iterator[str]:
    if PACKAGE not in text:
        return
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                yield from (rf"\b{each.asname or each.name}\b" for each in node.names)


def _sources(root: Path) -> Iterator[Path]:
    # Virtual environments and caches are often inside the game's folder.
    for path in sorted(root.iterdir()):
        if path.name.startswith((".", "__")) or path.is_symlink() or (path / "pyvenv.cfg").exists():
            continue
        if path.is_dir():
            yield from _sources(path)
        elif path.suffix == ".py":
            yield path


# ---- clearing ----------------------------------------------------------------------------------


def clear_accounts(account: Account) -> None:
    """Delete an assistant's account; one with a password stays, as the game's own class."""
    is_ours = account.db_typeclass_path.startswith(PATHS)
    remove_account(account)
    if is_ours and account.pk is not None:
        account.swap_typeclass(settings.BASE_ACCOUNT_TYPECLASS, run_start_hooks=None)


def clear_sets(being: Being) -> None:
    """Remove command sets of ours from a being."""
    being.cmdset_storage = [path for path in being.cmdset_storage if not path.startswith(PATHS)]
    being.cmdset.update(init_mode=True)


def close_editor(being: Being) -> None:
    """Close an editor of ours that Evennia would open again after a reload."""
    editor = being.ndb._eveditor
    if editor is not None:
        editor.quit()
        return
    being.cmdset.remove(EDITOR_SET)
    for name in EDITOR_KEPT:
        being.attributes.remove(name)


def clear_marks() -> None:
    """Remove our tags, the counter of questions and the list of unfinished imports."""
    tags().delete()
    for name in (COUNTER, ARRIVING):
        ServerConfig.objects.conf(name, delete=True)
