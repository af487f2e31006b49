"""A test case of settings: Ada as she was made, and her stored settings."""

from typing import Any

from evennia.scripts.models import ScriptDB

from evennia_ai.core.settings.assistant import SCHEMAS
from evennia_ai.operations.result import Result
from evennia_ai.operations.settings import changing
from evennia_ai.runtime import state
from tests.game.emergency.stopping import SafetyTest


class ConfiguringTest(SafetyTest):
    def setUp(self) -> None:
        """Remove the short times that the other tests set."""
        super().setUp()
        self.ada_script.attributes.remove("hearing_config")

    def set(self, path: str, value: Any) -> Result:
        return changing.set_setting(self.ada_script, path, value, by="Tom")

    def kept(self) -> dict[str, Any]:
        """All stored settings of Ada, read anew from the database."""
        script = ScriptDB.objects.get(id=self.ada_script.id)
        script.attributes.reset_cache()
        return {name: state.read(script, name) for name in SCHEMAS if script.attributes.has(name)}
