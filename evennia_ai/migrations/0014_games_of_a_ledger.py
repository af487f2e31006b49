"""The game of each row of a ledger, which several may share."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Two columns; an account is told apart by its game too."""

    dependencies = [("evennia_ai", "0013_workers")]
    operations = [
        migrations.AddField(
            "budgettotal", "game", models.CharField(blank=True, default="", max_length=64)
        ),
        migrations.AddField(
            "modelcall", "game", models.CharField(blank=True, default="", max_length=64)
        ),
        migrations.RemoveConstraint("budgettotal", "evennia_ai_one_total_each"),
        migrations.AddConstraint(
            "budgettotal",
            models.UniqueConstraint(
                fields=("game", "scope", "key", "period"), name="evennia_ai_one_total_each"
            ),
        ),
    ]
