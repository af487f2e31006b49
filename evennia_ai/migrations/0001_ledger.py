"""The ledger: what was used, in sum and by each model call."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


def _counter() -> models.BigIntegerField:
    return models.BigIntegerField(default=0)


class Migration(migrations.Migration):
    """Two tables."""

    initial = True
    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations = [
        migrations.CreateModel(
            name="BudgetTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scope", models.CharField(max_length=10)),
                ("key", models.CharField(blank=True, max_length=255)),
                ("period", models.CharField(blank=True, max_length=16)),
                ("calls", _counter()),
                ("open_calls", _counter()),
                ("prompt_tokens", _counter()),
                ("completion_tokens", _counter()),
                ("cost_nano", _counter()),
                ("held_tokens", _counter()),
                ("held_cost_nano", _counter()),
                ("granted_tokens", _counter()),
                ("granted_cost_nano", _counter()),
                ("granted_calls", _counter()),
                ("warned_tokens", models.BooleanField(default=False)),
                ("warned_cost", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("scope", "key", "period"), name="evennia_ai_one_total_each"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("owner", models.CharField(max_length=64)),
                ("at", models.BigIntegerField()),
                ("due", models.BigIntegerField()),
                ("assistant", models.CharField(max_length=255)),
                ("person", models.CharField(blank=True, max_length=255)),
                ("purpose", models.CharField(max_length=16)),
                ("model", models.CharField(max_length=255)),
                ("state", models.CharField(max_length=10)),
                ("estimated_prompt_tokens", models.BigIntegerField()),
                ("estimated_completion_tokens", models.BigIntegerField()),
                ("estimated_cost_nano", models.BigIntegerField()),
                ("prompt_tokens", _counter()),
                ("completion_tokens", _counter()),
                ("cost_nano", _counter()),
                ("is_priced", models.BooleanField(default=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["assistant", "at"], name="evennia_ai_call_of"),
                    models.Index(fields=["state", "at"], name="evennia_ai_call_state"),
                ],
            },
        ),
    ]
