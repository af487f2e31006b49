"""Memories say since when they hold no more."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """One column; what is there holds."""

    dependencies = [("evennia_ai", "0005_trace")]
    operations = [
        migrations.AddField("memory", "superseded_at", models.FloatField(null=True)),
    ]
