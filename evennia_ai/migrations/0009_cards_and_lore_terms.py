"""Character cards as they came, and the terms on which lore is told."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """One table, and a column that holds nothing for what is there already."""

    dependencies = [("evennia_ai", "0008_pending_tasks")]
    operations = [
        migrations.CreateModel(
            name="CardFile",
            fields=[
                ("assistant", models.BigIntegerField(primary_key=True, serialize=False)),
                ("chara", models.TextField(blank=True)),
                ("ccv3", models.TextField(blank=True)),
                ("picture", models.BinaryField()),
            ],
        ),
        migrations.AddField("memory", "terms", models.JSONField(null=True)),
    ]
