"""Lore of the library's world, used when one of its keywords is said."""

from world.blueprint import Lore

LORE = (
    Lore(
        ("harbour", "Greyport"),
        "Greyport is a small harbour: herring boats, two taverns, fog from October to March.",
    ),
    Lore(
        ("lamp", "lighthouse", "lantern"),
        "Ships have steered by the great lamp for two hundred years. It has gone out once.",
    ),
    Lore(
        ("flood", "storm"),
        "In the great flood the sea stood up to the third step of the Reading Room.",
    ),
    Lore(
        ("atlas", "Atlas of Lights"),
        "The Atlas of Lights shows every lighthouse on the coast, also two that never stood.",
    ),
    Lore(
        ("kettle", "tea"),
        "The kettle in the Workshop boils by itself at four. Brass says it is not a defect.",
        place="workshop",
    ),
)
