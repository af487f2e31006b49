"""Assistant scripts that nobody made an assistant: they do nothing, and the log explains them."""

from unittest import mock

from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.utils import logger
from evennia.utils.create import create_script

from evennia_ai import operations
from evennia_ai.assistant_script import AssistantScript
from tests.game.support import GameTest, pump


class TestStrays(GameTest):
    """Evennia's own commands may create a script of the class, or copy a body."""

    def test_a_script_by_its_class_gives_nobody_a_mind(self) -> None:
        """The command `scripts mira = evennia_ai.assistant_script.AssistantScript` does this."""
        with mock.patch.object(logger, "log_warn") as warned:
            script = create_script(AssistantScript, key="stray", obj=self.mira)
        (text,) = [call.args[0] for call in warned.call_args_list]
        assert f"the script stray (#{script.pk}) on Mira is not an assistant" in text
        assert f"scripts/delete #{script.pk}" in text
        assert None is getattr(self.mira, "assistant_script", None)
        assert [self.ada_script] == operations.list_assistants()
        self.ask("whisper mira = hello")
        script.at_repeat()
        pump()
        assert not self.model.bodies
        assert script.delete()

    def test_a_copied_body_has_no_mind_and_takes_none(self) -> None:
        """`copy ada` makes a body; the original goes on as before."""
        copy = ObjectDB.objects.copy_object(self.ada, new_key="ada copy")
        pump()
        assert [self.ada_script] == operations.list_assistants()
        assert None is copy.assistant_script
        assert self.ada_script == self.ada.assistant_script
        for script in ScriptDB.objects.filter(db_obj=copy):
            assert None is script.work
        assert copy.delete()
        assert self.ada_script.pk is not None
