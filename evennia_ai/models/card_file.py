"""The table of character cards, each as it came, so that it can be given back without loss.

`operations.files.cards` fills it, which is the only one to read it as well: no turn needs a card,
since what is told of one is in the settings and in the lore that were made of it.
"""

from __future__ import annotations

from django.db import models


class CardFile(models.Model):
    """The card that an assistant was given: `core.cards.character_card.CharacterCard`.

    Attributes:
        assistant: number of its script.
        chara, ccv3: JSON texts as they stood in the file, "" where none did.
        picture: the PNG file that it came in; empty where it came as JSON.
    """

    assistant = models.BigIntegerField(primary_key=True)
    chara = models.TextField(blank=True)
    ccv3 = models.TextField(blank=True)
    picture = models.BinaryField()

    class Meta:
        """A table of the package, though the module is not its `models`."""

        app_label = "evennia_ai"
