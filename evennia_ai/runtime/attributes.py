"""The store of an assistant's settings and state: Evennia's attributes, read all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from evennia.scripts.models import ScriptDB
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
_COLUMNS = [field for field in Attribute._meta.concrete_fields if not field.primary_key]
_NAMES = tuple(field.name for field in _COLUMNS)


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
        # Where a game turns Evennia's cache off nothing that was read may be kept.
        if not (settings.TYPECLASS_AGGRESSIVE_CACHE and self.obj.pk):
            return list(super().query_key(key, category))
        if not self._is_loaded:
            self._load()
        found = self._cache.get(f"{key}-{category}")
        # Evennia takes nothing but `attribute` from the link that it is given.
        return [SimpleNamespace(attribute=found)] if found else []

    def find(self, key: str) -> Any:
        """The attribute of a name without a category, or None; asked for 80 times a turn."""
        if not self._is_loaded:  # then this reads all of them, where they may be kept at all
            found = self.get(key)
            return found[0] if found else None
        found = self._cache.get(f"{key}-None")
        # One that was deleted may be in the cache still; Django took its id away.
        return found if found is not None and found.id else None

    def do_create_attribute(
        self, key: str, category: str | None, lockstring: str, value: object, strvalue: bool
    ) -> Attribute:
        """Store one that was never set."""
        packed, text = (None, value) if strvalue else (to_pickle(value), None)
        made = self._new(
            db_key=key,
            db_category=category,
            db_lock_storage=lockstring or "",
            db_value=packed,
            db_strvalue=text,
        )
        self._insert([made])
        return made

    def create(self, values: Mapping[str, object]) -> None:
        """Store plain values that were never set, by name: two statements for all of them."""
        self._insert([self._new(db_key=key, db_value=value) for key, value in values.items()])

    def _new(self, **columns: Any) -> Attribute:
        return Attribute(db_model=self._model, db_attrtype=self._attrtype, **columns)

    def _insert(self, made: list[Attribute]) -> None:
        """Two statements, where Evennia's own makes five for each.

        Django's `add` asks first whether the link is there, and both compile all of it anew.
        """
        with transaction.atomic(savepoint=False):
            # MySQL tells no ids of several rows; there each is saved by itself.
            if connection.features.can_return_rows_from_bulk_insert:
                rows = [[field.pre_save(each, add=True) for field in _COLUMNS] for each in made]
                ids = insert(Attribute, _NAMES, rows, are_ids_wanted=True)
                for each, number in zip(made, ids, strict=True):
                    each.id = number
                    each._state.adding, each._state.db = False, connection.alias
                    # Evennia's identity map has to know it, else a query makes it twice.
                    Attribute.cache_instance(each)
            else:
                for each in made:
                    each.save()
            through = self.obj.db_attributes.through
            insert(through, ("scriptdb", "attribute"), [(self._objid, each.pk) for each in made])
        for each in made:
            self._set_cache(each.db_key, each.db_category, each)

    def _load(self) -> None:
        self.load_all([self])

    @classmethod
    def load_all(cls, several: Iterable[AllAtOnce]) -> None:
        """Read all attributes of several, where they are not read yet, by one statement."""
        unread = {each._objid: each for each in several if not each._is_loaded}
        links = ScriptDB.db_attributes.through.objects.filter(
            scriptdb__id__in=unread, attribute__db_attrtype=AttributeHandler._attrtype
        )
        for link in links.select_related("attribute"):
            attribute = link.attribute
            category = attribute.category.lower() if attribute.category else None
            key = f"{attribute.key.lower()}-{category}"
            unread[link.scriptdb_id]._cache.setdefault(key, attribute)
        for backend in unread.values():
            backend._is_loaded = True

    def reset_cache(self) -> None:
        """Forget what was read."""
        super().reset_cache()
        self._is_loaded = False


def load_together(scripts: Iterable[Assistant]) -> None:
    """Read the attributes of several assistants by one statement, where they may be kept."""
    if settings.TYPECLASS_AGGRESSIVE_CACHE:
        AllAtOnce.load_all([each.attributes.backend for each in scripts])


class WatchedAttributes(AttributeHandler):
    """The attributes of an assistant's script: when one is set, that is recorded and counts.

    Attributes:
        find: gives one attribute itself, or None where none was ever set.
        create: stores several that were never set, for somebody who tells of it himself.
    """

    def __init__(self, obj: Assistant, backend_class: type[AllAtOnce]) -> None:
        super().__init__(obj, backend_class)
        self.find: Callable[[str], Any] = self.backend.find
        self.create: Callable[[Mapping[str, object]], None] = self.backend.create

    def add(self, key: str, *args: Any, **kwargs: Any) -> None:
        """Set one attribute."""
        with self.obj.changing(key):
            super().add(key, *args, **kwargs)
        if key not in STATE:
            self._listen_anew()

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
