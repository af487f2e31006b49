"""The attributes of an assistant, its settings and state, read from the database all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from evennia.scripts.models import ScriptDB
from evennia.typeclasses.attributes import Attribute, AttributeHandler, ModelAttributeBackend
from evennia.utils.dbserialize import deserialize, from_pickle, to_pickle

from evennia_ai.core.settings.assistant import AssistantSettings
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.models.statements import insert
from evennia_ai.runtime.assistant import Assistant

DEFAULTS: dict[str, Any] = {name: setting.default for name, setting in ATTRIBUTES.items()}
_CONTAINERS = frozenset(
    name for name, default in DEFAULTS.items() if isinstance(default, (list, dict))
)
# What beats and turns use as it is stored; `ear_settings` checks its own.
_CHECKED = {name for name, value in DEFAULTS.items() if type(value) in (int, float)}
_CHECKED |= {"thinking_lines", "failure_line"}
_CHECKED -= {*STATE, "max_agent_hops"}
_SCALARS = frozenset((str, int, float, bool, type(None)))
_COLUMNS = [field for field in Attribute._meta.concrete_fields if not field.primary_key]
_NAMES = tuple(field.name for field in _COLUMNS)


def read(script: Assistant, name: str) -> Any:
    """A setting as stored, else its default. Containers come as plain copies."""
    # Called eighty times a turn: what `find` does is written out here, and the common types skip
    # Evennia's deserialization.
    default, backend = DEFAULTS[name], script.attributes.backend
    attribute = backend._cache.get(f"{name}-None") if backend.is_loaded else backend.find(name)
    value = None if attribute is None or attribute.id is None else attribute.db_value
    if value is None:
        return default.copy() if name in _CONTAINERS else default
    return value if isinstance(value, (str, int, float)) else _copied(value, attribute)


def _copied(value: object, attribute: object) -> Any:
    """A plain copy of a stored container, with the game objects in it."""
    # Evennia's own reading would build a tree of saver containers first, then a plain one of it.
    if value.__class__ is list:
        return [v if v.__class__ in _SCALARS else _copied(v, attribute) for v in value]
    if value.__class__ is dict and _SCALARS.issuperset(map(type, value)):
        return {
            key: v if v.__class__ in _SCALARS else _copied(v, attribute) for key, v in value.items()
        }
    return deserialize(from_pickle(value, attribute))


class AllAtOnce(ModelAttributeBackend):
    """An attribute backend that reads all attributes at once, when the first is asked for.

    Evennia queries each by itself, also those that were never set; an assistant has dozens of
    settings, nearly all of them at their defaults.

    Attributes:
        is_loaded: True where `_cache` has every attribute there is; never in a game that turned
            Evennia's attribute cache off.
    """

    is_loaded = False

    def query_key(self, key: str, category: str | None) -> list[Any]:
        """The link to one attribute; Evennia asks only for what is not in its cache."""
        # A game that turns Evennia's attribute cache off expects fresh values at each read.
        if not (settings.TYPECLASS_AGGRESSIVE_CACHE and self.obj.pk):
            return list(super().query_key(key, category))
        if not self.is_loaded:
            self._load()
        attribute = self._cache.get(f"{key}-{category}")
        # Evennia reads nothing but `attribute` from the link.
        return [SimpleNamespace(attribute=attribute)] if attribute else []

    def find(self, key: str) -> Any:
        """An attribute without a category, or None."""
        # `get` loads all of them, unless the game turned the cache off.
        if not self.is_loaded:
            attribute = self.get(key)
            return attribute[0] if attribute else None
        attribute = self._cache.get(f"{key}-None")
        # A deleted attribute may still be cached; Django has cleared its id.
        return attribute if attribute is not None and attribute.id else None

    def do_create_attribute(
        self, key: str, category: str | None, lockstring: str, value: object, strvalue: bool
    ) -> Attribute:
        """Store an attribute that did not exist."""
        packed, text = (None, value) if strvalue else (to_pickle(value), None)
        attribute = self._new(
            db_key=key,
            db_category=category,
            db_lock_storage=lockstring or "",
            db_value=packed,
            db_strvalue=text,
        )
        self._insert([attribute])
        return attribute

    def create(self, values: Mapping[str, object]) -> None:
        """Store plain values of attributes that did not exist, with two statements for all."""
        self._insert([self._new(db_key=key, db_value=value) for key, value in values.items()])

    def _new(self, **columns: Any) -> Attribute:
        return Attribute(db_model=self._model, db_attrtype=self._attrtype, **columns)

    def _insert(self, made: list[Attribute]) -> None:
        """Insert attributes and links with two statements, where Evennia needs five for each."""
        # Not Django's `add`: it first queries whether the link exists.
        with transaction.atomic(savepoint=False):
            # MySQL returns no ids for a multi-row insert, so each row is saved by itself there.
            if connection.features.can_return_rows_from_bulk_insert:
                rows = [[field.pre_save(each, add=True) for field in _COLUMNS] for each in made]
                ids = insert(Attribute, _NAMES, rows, are_ids_wanted=True)
                for each, number in zip(made, ids, strict=True):
                    each.id = number
                    each._state.adding, each._state.db = False, connection.alias
                    # Without this, a later query would create a second instance of the row.
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
        """Read the attributes of several objects, where that is not done, with one statement."""
        unread = {each._objid: each for each in several if not each.is_loaded}
        # By scripts alone: with the type in the condition, SQLite begins with all attributes of
        # that type in the game, and looks each of them up in the links of each script.
        links = ScriptDB.db_attributes.through.objects.filter(scriptdb__in=unread)
        for link in links.select_related("attribute"):
            attribute = link.attribute
            if attribute.db_attrtype != AttributeHandler._attrtype:
                continue
            category = attribute.category.lower() if attribute.category else None
            key = f"{attribute.key.lower()}-{category}"
            unread[link.scriptdb_id]._cache.setdefault(key, attribute)
        for backend in unread.values():
            backend.is_loaded = True

    def reset_cache(self) -> None:
        """Forget everything that was read."""
        super().reset_cache()
        self.is_loaded = False


def load_together(scripts: Iterable[Assistant]) -> None:
    """Read the attributes of several assistants with one statement, where they may be cached."""
    if settings.TYPECLASS_AGGRESSIVE_CACHE:
        AllAtOnce.load_all([each.attributes.backend for each in scripts])


class WatchedAttributes(AttributeHandler):
    """The attribute handler of an assistant: changes are audited and take effect at once.

    Attributes:
        find: one Attribute, or None where it was never set.
        create: stores several that were never set, for a caller that audits the change itself.
    """

    def __init__(self, obj: Assistant, backend_class: type[AllAtOnce]) -> None:
        super().__init__(obj, backend_class)
        self.find: Callable[[str], Any] = self.backend.find
        self.create: Callable[[Mapping[str, object]], None] = self.backend.create

    def add(self, key: str, value: object, *args: Any, **kwargs: Any) -> None:
        """Set one attribute.

        Raises:
            ConfigurationError: it is a setting that must be a number in its bounds, or a text or a
                list of them, and the value is none.
        """
        _check(key, value)
        with self.obj.changing(key):
            super().add(key, value, *args, **kwargs)
        # State is written every turn, and no cached setting depends on it.
        if key not in STATE:
            self._drop_cached_settings()

    def remove(self, key: str | None = None, *args: Any, **kwargs: Any) -> None:
        """Remove attributes."""
        with self.obj.changing(*_names(key)):
            super().remove(key, *args, **kwargs)
        self._drop_cached_settings()

    def batch_add(self, *args: Any, **kwargs: Any) -> None:
        """Set several attributes, given as tuples that begin with name and value; see `add`."""
        for key, value, *_ in args:
            _check(key, value)
        with self.obj.changing(*(item[0] for item in args)):
            super().batch_add(*args, **kwargs)
        self._drop_cached_settings()

    def clear(self, *args: Any, **kwargs: Any) -> None:
        """Remove all attributes."""
        with self.obj.changing(*ATTRIBUTES):
            super().clear(*args, **kwargs)
        self._drop_cached_settings()

    def _drop_cached_settings(self) -> None:
        if (work := self.obj.work) is not None:
            work.drop_cached_settings()


def _check(key: str, value: object) -> None:
    if key in _CHECKED and value is not None:
        AssistantSettings.from_stored({key: value})


def _names(key: str | Iterable[str] | None) -> tuple[str, ...]:
    """Names in the form that Evennia's handler takes them: None, one, or several."""
    if key is None:
        return ()
    return (key,) if isinstance(key, str) else tuple(key)
