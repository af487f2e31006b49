"""Program questions to a model of JSON mode and to the scripted model."""

import json

from evennia_ai.llm.scripted import completion
from evennia_ai.operations.conversation import tell
from tests.game.tasks.errand_case import ErrandTest


class TestSmallModels(ErrandTest):
    environ = {"EVENNIA_AI_MODEL": "scripted", "EVENNIA_AI_TOOL_MODE": "json"}

    def test_it_is_shown_how_to_report(self) -> None:
        call = {"tool": "report", "parameters": {"message": "At noon."}}
        self.model.answers.extend([completion(json.dumps(call)), completion("At noon, I think.")])
        assert ["At noon."] == self.outcome(self.ada.ask("When?"))
        assert ["At noon, I think."] == self.outcome(self.ada.ask("When?"))
        sent = str(self.model.bodies[0])
        assert "report" in sent
        assert "'whisper'" not in sent
        assert "'emote'" not in sent
        assert [] == self.mira.seen

    def test_it_can_be_told_to_do_something(self) -> None:
        call = {"tool": "emote", "parameters": {"action": "bows"}}
        self.model.answers.append(completion(json.dumps(call)))
        (result,) = self.outcome(tell(self.ada_script, self.tom, "Bow."))
        assert (True, ["Ada bows"]) == (result.ok, self.mira.heard_from(self.ada))


class TestScripted(ErrandTest):
    """A game can be built against `ask` without any real model."""

    def test_it_reports_what_it_was_asked(self) -> None:
        self.use_scripted_model()
        (answer,) = self.outcome(self.ada.ask("When does the tide turn?"))
        assert 'I heard you: "When does the tide turn?". I answer from a script.' == answer
        (answer,) = self.outcome(self.ada.ask("And now?", asker=self.mira))
        assert 'I heard you: "And now?". I answer from a script.' == answer
