"""Other base classes for a game's characters, objects and rooms."""

from collections.abc import Mapping
from pathlib import Path

RPSYSTEM = {
    "characters": "evennia.contrib.rpg.rpsystem.ContribRPCharacter",
    "objects": "evennia.contrib.rpg.rpsystem.ContribRPObject",
    "rooms": "evennia.contrib.rpg.rpsystem.ContribRPRoom",
}
# The class lines that `evennia --init` writes.
LINES = {
    "accounts": "class Account(DefaultAccount):",
    "characters": "class Character(ObjectParent, DefaultCharacter):",
    "objects": "class Object(ObjectParent, DefaultObject):",
    "rooms": "class Room(ObjectParent, DefaultRoom):",
    "scripts": "class Script(DefaultScript):",
}


def stand_on(bases: Mapping[str, str], typeclasses: Path) -> None:
    """Change the base classes of a game's typeclasses.

    Args:
        bases: paths of the new bases, by the module of the class that is changed.
        typeclasses: the game's folder of that name.
    """
    for name, base in bases.items():
        path, line = typeclasses / f"{name}.py", LINES[name]
        text = path.read_text()
        assert line in text, f"{path} has no line {line!r}"
        module, _, known = base.rpartition(".")
        changed = text.replace(line, f"{line.partition('(')[0]}({known}):")
        path.write_text(f"from {module} import {known}\n{changed}")
