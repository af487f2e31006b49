"""Memories, and what assistants make of whom they meet."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Two tables."""

    dependencies = [("evennia_ai", "0002_audit")]
    operations = [
        migrations.CreateModel(
            name="Memory",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("key", models.CharField(max_length=64, unique=True)),
                ("assistant", models.BigIntegerField(default=0)),
                ("kind", models.CharField(max_length=16)),
                ("text", models.TextField()),
                ("audience", models.CharField(max_length=64)),
                ("person", models.CharField(blank=True, max_length=64)),
                ("place", models.CharField(blank=True, max_length=255)),
                ("source_type", models.CharField(max_length=16)),
                ("trust", models.FloatField()),
                ("importance", models.SmallIntegerField()),
                ("importance_by", models.CharField(max_length=16)),
                ("at", models.FloatField()),
                ("tags", models.JSONField(default=list)),
                ("cites", models.JSONField(default=list)),
                ("links", models.JSONField(default=list)),
                ("is_consolidated", models.BooleanField(default=False)),
                ("indexed_as", models.CharField(blank=True, max_length=64)),
                ("is_removed", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["assistant", "kind", "at"], name="evennia_ai_memory_of"),
                    models.Index(fields=["assistant", "person", "at"], name="evennia_ai_memory_by"),
                    models.Index(
                        fields=["assistant", "indexed_as"], name="evennia_ai_memory_index"
                    ),
                    models.Index(
                        condition=models.Q(("is_removed", True)),
                        fields=["assistant", "id"],
                        name="evennia_ai_memory_gone",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EntityProfile",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("assistant", models.BigIntegerField()),
                ("entity", models.CharField(max_length=64)),
                ("entity_type", models.CharField(max_length=16)),
                ("name", models.CharField(blank=True, max_length=255)),
                ("attributes", models.JSONField(default=list)),
                ("favour", models.FloatField(default=0.0)),
                ("meetings", models.IntegerField(default=0)),
                ("first_at", models.FloatField()),
                ("last_at", models.FloatField()),
                ("consolidated", models.BigIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("assistant", "entity"), name="evennia_ai_one_profile_each"
                    )
                ],
            },
        ),
    ]
