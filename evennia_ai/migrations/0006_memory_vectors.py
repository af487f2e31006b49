"""Vectors beside the memories they belong to, and the order in which a search reads them."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """One table, two indexes."""

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
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["assistant", "id"], name="evennia_ai_memory_new"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["assistant", "audience", "id"], name="evennia_ai_memory_for"
            ),
        ),
    ]
