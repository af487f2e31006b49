"""Pending tasks: requests of programs by a name of their own, and their outcomes."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """One table."""

    dependencies = [("evennia_ai", "0007_memory_indexes")]
    operations = [
        migrations.CreateModel(
            name="PendingTask",
            fields=[
                ("id", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("assistant", models.BigIntegerField()),
                ("person", models.CharField(blank=True, max_length=64)),
                ("name", models.CharField(max_length=64)),
                ("digest", models.CharField(max_length=64)),
                ("number", models.BigIntegerField()),
                ("is_order", models.BooleanField()),
                ("began_at", models.FloatField()),
                ("ends_at", models.FloatField()),
                ("state", models.CharField(default="open", max_length=16)),
                ("reason", models.CharField(blank=True, max_length=16)),
                ("answer", models.TextField(blank=True)),
                ("ended_at", models.FloatField(default=0.0)),
            ],
            options={
                "indexes": [models.Index(fields=["ends_at"], name="evennia_ai_task_ends")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("assistant", "person", "name"), name="evennia_ai_one_task_each"
                    )
                ],
            },
        ),
    ]
