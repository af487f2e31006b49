"""Addresses that are told of tasks of peers, found by when there is something to tell them."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """One index."""

    dependencies = [("evennia_ai", "0014_games_of_a_ledger")]
    operations = [
        migrations.AddIndex(
            "peerhook", models.Index(fields=["next_at"], name="evennia_ai_peer_hooks_due")
        ),
    ]
