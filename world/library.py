"""The Lantern Library as data: its places, and the greeting of newcomers.

Changes before the first build are built. After it, `build_world()` only adds what is missing, and
keeps what builders have changed in the game.
"""

from world.blueprint import Place, Thing, Way

WELCOME = (
    "\n|wYou are new here.|n {name} is an AI: a language model does the talking, and it can be "
    "wrong. To be answered, whisper to {name}, or begin what you say with @{call}.\n"
    "Try: |wwhisper {call} = what is this place?|n   More: |whelp talking|n"
)

START = "reading_room"

PLACES = (
    Place(
        key="reading_room",
        name="The Reading Room",
        desc=(
            "Lamplight pools on long oak tables, and rain ticks at the tall windows without ever "
            "quite getting in. An arch opens north on a gallery, a low door leads down beneath "
            "the stairs, and small hammers tap somewhere to the east."
        ),
        details=(
            Thing(
                "card index",
                "Ninety small drawers, their handles worn bright where fingers have asked the same "
                "things for a hundred years. The one marked S stands open: |wships, under the "
                "stairs; storms, north gallery, third case|n.",
                aliases=("cards", "index", "drawers", "desk"),
            ),
            Thing(
                "oak tables",
                "Ink rings, a carved whale, initials older than the lock on the door. Someone has "
                "left a chair pulled out, as if for you.",
                aliases=("table", "chair", "oak table"),
            ),
            Thing(
                "tall windows",
                "The panes are old enough to have run, and the harbour lights run with them. "
                "Your own face looks in from the rain.",
                aliases=("window", "rain"),
            ),
            Thing(
                "visitors' book",
                "|xCame for the storms, stayed for the quiet.|n\n"
                "|xWho has the Atlas of Lights?|n\n"
                "And below that, in a careful square hand: |xNot me. B.|n",
                aliases=("visitors book", "book"),
            ),
        ),
        things=(
            Thing(
                "hand lantern",
                "A lantern of tin and horn, small enough for a pocket. It never gets hot, and "
                "nobody remembers filling it.",
                aliases=("lantern",),
            ),
        ),
    ),
    Place(
        key="north_gallery",
        name="The North Gallery",
        desc=(
            "A long, cold room of glass-fronted cases, numbered in gold leaf, where you can hear "
            "the wind leaning on the wall. At the far end an iron stair winds up towards light; "
            "the arch to the south lets in the warmth of the reading room."
        ),
        ways=(Way("south", to="reading_room", back="north"),),
        details=(
            Thing(
                "third case",
                "Storms, by year and by name: |xThe Candlemas Gale|n, |xThe Night of Nine Ships|n, "
                "|xA Short History of the Long Nor'wester|n. The glass is fogged from the inside.",
                aliases=("case", "cases", "storms", "books about storms"),
            ),
            Thing(
                "loose stair",
                "Eleven treads of iron ivy. The third rocks underfoot with a note like a struck "
                "bell, and wears a paper tag: |xBrass to mend|n, and a date three springs gone.",
                aliases=("iron stair", "stair", "stairs", "tread", "tag"),
            ),
            Thing(
                "storm glass",
                "Feathers of frost grow and fall in a sealed tube of clear spirit. Tonight they "
                "stand almost to the cork.",
                aliases=("glass", "tube", "frost"),
            ),
        ),
    ),
    Place(
        key="under_the_stairs",
        name="Under the Stairs",
        desc=(
            "The room has the shape of the steps above it: you can stand at one end and must "
            "kneel at the other. Ships' logs and atlases are packed to the slope of the ceiling, "
            "and it smells of tar and old varnish. A low door leads back up."
        ),
        ways=(Way("up", to="reading_room", back="down"),),
        details=(
            Thing(
                "ships' logs",
                "Clippers, colliers and ferries, each in its captain's hand. Every one of them "
                "ends in the middle of a line.",
                aliases=("logs", "ships", "books about ships", "ship books"),
            ),
            Thing(
                "atlases",
                "Eleven tall atlases, and a gap the width of a twelfth. The dust in the gap is "
                "thin: |xThe Atlas of Lights|n has not been gone for long.",
                aliases=("atlas", "gap", "dust"),
            ),
            Thing(
                "ship in a bottle",
                "A three-master under full sail. Tilt your head and the sea in the glass tilts "
                "too, a moment late.",
                aliases=("bottle", "ship"),
            ),
        ),
        things=(
            Thing(
                "paper boat",
                "Folded from a library card, and signed on the keel by whoever was seven in 1911.",
                aliases=("boat",),
            ),
        ),
    ),
    Place(
        key="workshop",
        name="The Workshop",
        desc=(
            "Clocks with their backs off cover the walls, no two of them agreeing about the time. "
            "A bench runs the length of the room beneath tools that each hang on their own "
            "painted shadow. The stove is lit; the reading room lies west."
        ),
        ways=(Way("west", to="reading_room", back="east"),),
        details=(
            Thing(
                "bench",
                "Springs, jewels, half a music box. One short leg of the bench stands on a large "
                "flat book; what you can read of the spine says |x...of Lights|n.",
                aliases=("workbench", "flat book", "book"),
            ),
            Thing(
                "clocks",
                "Forty at least. Under each hangs a card with the name of the town whose time it "
                "keeps, and you have heard of perhaps three of them.",
                aliases=("clock", "town cards"),
            ),
            Thing(
                "tool rack",
                "Files, pliers, a hammer no longer than a finger. One painted shadow is empty; it "
                "has the shape of a key.",
                aliases=("tools", "rack", "shadow", "key"),
            ),
            Thing(
                "stove",
                "A squat iron stove with a kettle on it, for visitors. Brass does not drink tea "
                "but has opinions on how to make it.",
                aliases=("kettle",),
            ),
        ),
        things=(
            Thing(
                "wind-up mouse",
                "Copper ears, a leather tail, a key in its side. It looks as if it had only just "
                "stopped.",
                aliases=("mouse",),
            ),
        ),
    ),
    Place(
        key="lamp_room",
        name="The Lamp Room",
        desc=(
            "There is glass on every side, and in the middle of it the great lamp turns with a "
            "sound like slow breath. Far below, Greyport lies around its harbour in a scatter of "
            "smaller lights. The iron stair goes down to the gallery."
        ),
        ways=(Way("down", to="north_gallery", back="up"),),
        details=(
            Thing(
                "great lamp",
                "A flame no bigger than your thumb, in a beehive of lenses taller than you are. "
                "The clockwork beneath is wound each dusk: Brass has scratched a tally of every "
                "dusk so far.",
                aliases=("lamp", "flame", "lenses", "tally"),
            ),
            Thing(
                "harbour",
                "Masts, a late ferry, the long arm of the mole. When the beam comes round, every "
                "window in Greyport blinks.",
                aliases=("harbor", "view", "greyport", "lights"),
            ),
            Thing(
                "tide board",
                "Chalked twice a day in Ada's hand: the hours of high and low water, and once, "
                "rubbed out but not quite, |xstay for the second tide|n.",
                aliases=("board", "tides", "tide"),
            ),
        ),
        things=(
            Thing(
                "spyglass",
                "Three brass draws and a cracked eyepiece. Whatever you point it at looks a little "
                "more interesting than it is.",
                aliases=("telescope",),
            ),
        ),
    ),
)
