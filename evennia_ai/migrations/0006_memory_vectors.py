"""Vectors beside the memories they belong to, the order of a search, and what holds no more."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """One table, one column, two indexes; what is there holds."""

    dependencies = [("evennia_ai", "0005_trace")]

    operations = [
        migrations.CreateModel(
            name="MemoryVector",
            fields=[
                (
                    "memory",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="embedding",
                        serialize=False,
                        to="evennia_ai.memory",
                    ),
                ),
                ("model", models.CharField(max_length=64)),
                ("vector", models.BinaryField()),
            ],
        ),
        migrations.AddField("memory", "superseded_at", models.FloatField(null=True)),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["assistant", "id"], name="evennia_ai_memory_after"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["assistant", "audience", "id"], name="evennia_ai_memory_for"
            ),
        ),
    ]
