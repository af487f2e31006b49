"""Indexes by which no question about memories reads them all."""

from __future__ import annotations

from django.db import migrations, models

KEPT = models.Q(is_removed=False)
NEW = models.Q(is_removed=False, is_consolidated=False)
DONE = models.Q(is_removed=False, is_consolidated=True)
INDEXES = (
    ("kept", ["assistant", "kind", "at", "is_removed"], KEPT),
    ("heard", ["assistant", "audience", "kind", "id"], KEPT),
    ("said", ["assistant", "person", "kind", "id"], KEPT),
    ("new", ["assistant", "kind", "id"], NEW),
    ("slight", ["assistant", "kind", "importance", "at"], NEW),
    ("done", ["assistant", "kind", "importance", "at"], DONE),
)


class Migration(migrations.Migration):
    """Six indexes for two that read what is forgotten too; links that nothing ever read go."""

    dependencies = [("evennia_ai", "0006_memory_vectors")]
    operations = [
        migrations.RemoveField("memory", "links"),
        migrations.RemoveIndex(model_name="memory", name="evennia_ai_memory_of"),
        migrations.RemoveIndex(model_name="memory", name="evennia_ai_memory_by"),
        *(
            migrations.AddIndex(
                model_name="memory",
                index=models.Index(
                    fields=fields, name=f"evennia_ai_memory_{name}", condition=condition
                ),
            )
            for name, fields, condition in INDEXES
        ),
    ]
