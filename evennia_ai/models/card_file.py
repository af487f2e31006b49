"""The table of imported character cards, unchanged, so that they can be exported without loss.

Only `operations.files.cards` reads and writes it. A turn needs no card: the import has copied its
content into settings and lore.
"""

from __future__ import annotations

from django.db import models


class CardFile(models.Model):
    """The card of an assistant: `core.cards.character_card.CharacterCard`.

    Attributes:
        assistant: id of its script.
        chara, ccv3: the JSON texts in the file, "" for one that it did not have.
        picture: the PNG file; empty if the card was a JSON file.
    """

    assistant = models.BigIntegerField(primary_key=True)
    chara = models.TextField(blank=True)
    ccv3 = models.TextField(blank=True)
    picture = models.BinaryField()

    class Meta:
        """Django needs the label, as the model is not defined in the app's `models` module."""

        app_label = "evennia_ai"
