"""The store of an assistant's settings and state: Evennia's attributes, read all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from evennia.typeclasses.attributes import Attribute, AttributeHandler, ModelAttributeBackend
from evennia.utils.dbserialize import deserialize, from_pickle, to_pickle

from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.models.statements import insert
from evennia_ai.runtime.assistant import Assistant

DEFAULTS: dict[str, Any] = {name: setting.default for name, setting in ATTRIBUTES.items()}
_CONTAINERS = frozenset(
    name for name, default in DEFAULTS.items() if isinstance(default, (list, dict))
)
_SCALARS = frozenset((str, int, float, bool, type(None)))


def read(script: Assistant, name: str) -> Any:
    """A setting of the assistant: as stored, else its default. Containers come as plain copies."""
    default, attribute = DEFAULTS[name], script.attributes.find(name)
    value = None if attribute is None else attribute.db_value
    if value is None:
        return default.copy() if name in _CONTAINERS else default
    return value if isinstance(value, (str, int, float)) else _copied(value, attribute)


def _copied(value: object, attribute: object) -> Any:
    """A container as it was stored, with the game's objects that are in it.

    Evennia's own reading builds a tree of watched containers first, and a plain one of that.
    """
    if value.__class__ is list:
        return [v if v.__class__ in _SCALARS else _copied(v, attribute) for v in value]
    if value.__class__ is dict and _SCALARS.issuperset(map(type, value)):
        return {
            key: v if v.__class__ in _SCALARS else _copied(v, attribute) for key, v in value.items()
        }
    return deserialize(from_pickle(value, attribute))


class AllAtOnce(ModelAttributeBackend):
    """Attributes that are read all at once, when the first of them is asked for.

    Evennia asks the database for each by itself, also for those that nobody ever set; an assistant
    has dozens of settings, nearly all of them at their defaults.
    """

    _is_loaded = False

    def query_key(self, key: str, category: str | None) -> list[Any]:
        """The link to one attribute; asked only for what is not in the cache."""
        if not (settings.TYPECLASS_AGGRESSIVE_CACHE and self.obj.pk):
            return list(super().query_key(key, category))
        if not self._is_loaded:
            self._load()
        found = self._cache.get(f"{key}-{category}")
        return [SimpleNamespace(attribute=found)] if found else []

    def find(self, key: str) -> Any:
        """The attribute of a name without a category, or None; asked for 80 times a turn."""
        if not self._is_loaded:  # then this reads all of them, where they may be kept at all
            found = self.get(key)
            return found[0] if found else None
        found = self._cache.get(f"{key}-None")
        return found if found is not None and found.id else None

    def do_create_attribute(
        self, key: str, category: str | None, lockstring: str, value: object, strvalue: bool
    ) -> Attribute:
        """Store one that was never set: two statements, where Evennia's own makes five.

        Django's `add` asks first whether the link is there, and compiles all of it anew.
        """
        packed, text = (None, value) if strvalue else (to_pickle(value), None)
        made = Attribute(
            db_key=key,
            db_category=category,
            db_model=self._model,
            db_lock_storage=lockstring or "",
            db_attrtype=self._attrtype,
            db_value=packed,
            db_strvalue=text,
        )
        made.save()
        through = self.obj.db_attributes.through
        insert(through, ("scriptdb", "attribute"), [(self._objid, made.pk)])
        self._set_cache(key, category, made)
        return made

    def _load(self) -> None:
        links = self.obj.db_attributes.through.objects.filter(
            scriptdb__id=self._objid, attribute__db_attrtype=self._attrtype
        )
        for link in links.select_related("attribute"):
            attribute = link.attribute
            category = attribute.category.lower() if attribute.category else None
            self._cache.setdefault(f"{attribute.key.lower()}-{category}", attribute)
        self._is_loaded = True

    def reset_cache(self) -> None:
        """Forget what was read."""
        super().reset_cache()
        self._is_loaded = False


class WatchedAttributes(AttributeHandler):
    """The attributes of an assistant's script: when one is set, that is recorded and counts.

    Attributes:
        find: gives one attribute itself, or None where none was ever set.
    """

    def __init__(self, obj: Assistant, backend_class: type[AllAtOnce]) -> None:
        super().__init__(obj, backend_class)
        self.find: Callable[[str], Any] = self.backend.find

    def add(self, key: str, *args: Any, **kwargs: Any) -> None:
        """Set one attribute."""
        with self.obj.changing(key):
            super().add(key, *args, **kwargs)
        if key not in STATE:
            self._listen_anew()

    def put(self, key: str, value: object) -> None:
        """Set one attribute for somebody who tells of it himself."""
        super().add(key, value)

    def remove(self, key: str | None = None, *args: Any, **kwargs: Any) -> None:
        """Remove attributes."""
        with self.obj.changing(*_names(key)):
            super().remove(key, *args, **kwargs)
        self._listen_anew()

    def batch_add(self, *args: Any, **kwargs: Any) -> None:
        """Set several attributes: tuples that begin with their names."""
        with self.obj.changing(*(item[0] for item in args)):
            super().batch_add(*args, **kwargs)
        self._listen_anew()

    def clear(self, *args: Any, **kwargs: Any) -> None:
        """Remove all attributes."""
        with self.obj.changing(*ATTRIBUTES):
            super().clear(*args, **kwargs)
        self._listen_anew()

    def _listen_anew(self) -> None:
        if (work := self.obj.work) is not None:
            work.read_anew()


def _names(key: str | Iterable[str] | None) -> tuple[str, ...]:
    """The names that Evennia's handler takes as one text or several."""
    if key is None:
        return ()
    return (key,) if isinstance(key, str) else tuple(key)
