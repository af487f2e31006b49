"""The games that share a ledger, each with its name."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """One table."""

    dependencies = [("evennia_ai", "0015_peer_hooks")]
    operations = [
        migrations.CreateModel(
            name="LedgerGame",
            fields=[
                ("game", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("identity", models.CharField(max_length=64)),
                ("owner", models.CharField(blank=True, max_length=64)),
                ("host", models.CharField(blank=True, max_length=255)),
                ("seen_at", models.BigIntegerField(default=0)),
            ],
        ),
    ]
