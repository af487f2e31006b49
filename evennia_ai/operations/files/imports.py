"""Files that are brought in: from a folder that the game names, or typed; never by an address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from evennia_ai.core.cards.character_card import MOST_BYTES
from evennia_ai.core.settings.game import GAME_SETTINGS
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ImportFileError

FOLDER = "EVENNIA_AI_IMPORT_FOLDER"
MOST_NAMED = 20
DEEPEST = 12
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_import(name: str, most: int = MOST_BYTES) -> bytes:
    """A file of the folder for what is brought in.

    Args:
        name: of the file, or its path in the folder.
        most: bytes that are read of it; a longer one is refused.

    Raises:
        ImportFileError: there is none, or it is too long; the text lists those that are there.
    """
    folder = _folder()
    shown = one_line(name, 80)
    try:
        path = (folder / name.strip()).resolve(strict=True)
        # A link that leads out of the folder is not a file in it.
        if not (path.is_file() and path.is_relative_to(folder)):
            raise FileNotFoundError
        with path.open("rb") as file:
            # One more than may be shows that it is too long, whatever its size was just now.
            raw = file.read(most + 1)
    except (OSError, ValueError):
        raise ImportFileError(
            f"there is no file {shown!r} in {folder}; {_listed(folder)}"
        ) from None
    if len(raw) > most:
        raise ImportFileError(f"{shown} has more than {most:,} bytes")
    return raw


def _folder() -> Path:
    """The folder, as the game's settings name it.

    Raises:
        ImportFileError: they name none.
    """
    named = getattr(settings, FOLDER, GAME_SETTINGS[FOLDER].default)
    if not (isinstance(named, str) and named.strip()):
        raise ImportFileError(f"{FOLDER} names no folder, so nothing is brought in by name")
    return (Path(settings.GAME_DIR) / named).resolve()


def _listed(folder: Path) -> str:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return "make that folder, and put the file into it"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"there are: {', '.join(names[:MOST_NAMED])}{more}" if names else "it is empty"


def typed_and_rest(line: str) -> tuple[bytes, str]:
    """A typed line: JSON that it begins with, and what follows; b"" where it begins with none.

    Raises:
        ImportFileError: it begins with a brace, and is not JSON.
    """
    if not line.startswith("{"):
        return b"", line
    try:
        _, end = json.JSONDecoder().raw_decode(line)
    except (ValueError, RecursionError) as error:
        raise ImportFileError(f"what is typed is not JSON: {one_line(str(error), 200)}") from None
    return line[:end].encode(), line[end:].strip()


# ---- YAML and JSON -----------------------------------------------------------------------------


def plain_of(raw: bytes, most: int) -> Any:
    """The plain data in a file of JSON or YAML.

    Raises:
        ImportFileError: it is neither, too long, or not plain; the text says where.
    """
    if len(raw) > most:
        raise ImportFileError(f"the file has more than {most:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            return json.loads(text, object_pairs_hook=once)
        # Before anything is built of it: some lines of & and * can grow to gigabytes.
        _check_yaml(text)
        return _plain(yaml.load(text, Loader=_Loader))
    except UnicodeDecodeError as error:
        raise ImportFileError(f"the file is not UTF-8 at byte {error.start}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        told = one_line(str(error), 300)
        raise ImportFileError(f"the file is neither JSON nor YAML as it is taken: {told}") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The names and values of a JSON object.

    Raises:
        ValueError: a name stands there twice: one program takes the first value, another the last.
    """
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a name stands there twice")
    return read


def _check_yaml(text: str) -> None:
    """Refuse what could grow beyond its file, and names that stand there twice.

    Raises:
        ValueError: there is such.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ValueError(f"line {event.start_mark.line + 1}: & and * are not taken")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"line {event.start_mark.line + 1}: nested more than {DEEPEST} deep")
    for node in _mappings(yaml.compose(text, Loader=_Loader)):
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(names)) != len(node.value):
            line = node.start_mark.line + 1
            raise ValueError(f"line {line}: a name stands there twice, or is not text")


def _mappings(node: object) -> Iterator[Any]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from _mappings(value)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _mappings(each)


def _plain(value: object) -> Any:
    """Data without what YAML knows and JSON does not, such as dates."""
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise ValueError(f"{one_line(repr(value), 60)} is not text, number, list or mapping")
