"""Help on topics: `help talking`, `help library`, `help worldbuilding`."""

HELP_ENTRY_DICTS = [
    {
        "key": "talking",
        "aliases": ["talking to assistants", "assistants", "ada", "brass"],
        "category": "The Lantern Library",
        "text": """
            Some who live here are |wan AI|n, and say so when you look at them. A language model
            does their talking. They can be wrong, and they only know what they have been told.

              |wwhisper ada = where are the books about storms?|n
              |wsay @ada and books about ships?|n

            A whisper is answered with a whisper. What you say with @ and a name is heard, and
            answered, before everybody in the room. Talk that names nobody is answered by nobody.

            An answer may take some seconds. If none can be given you are told so, once.

            # subtopics

            ## Privacy

            What you whisper to an assistant is sent to a language model, which may run on
            somebody else's machines, and the staff of this game can read it. Tell an assistant
            nothing you would not tell a stranger behind a counter.
        """,
    },
    {
        "key": "library",
        "aliases": ["lantern library"],
        "category": "The Lantern Library",
        "text": """
            The Lantern Library is an old lighthouse above the harbour of Greyport, full of books.
            It has five rooms. You come in at the Reading Room, where Ada keeps the card index.

              |wlook|n               see where you are, and the ways out
              |wlook card index|n    look closer at something the room speaks of
              |wnorth|n              go there; |wn|n will do

            Most of what a description names can be looked at. One book has been missing since
            spring. Nobody has offered a reward, but two people here know something about it.
        """,
    },
    {
        "key": "worldbuilding",
        "aliases": ["building the library", "for builders"],
        "category": "The Lantern Library",
        "locks": "read:perm(Builder)",
        "text": """
            The world is written down in |wworld/library.py|n. A new room is one new entry there:

              Place(
                  key="cellar",
                  name="The Cellar",
                  desc="Cold stone, and the sea on the other side of it.",
                  ways=(Way("up", to="reading_room", back="down"),),
                  details=(Thing("sea wall", "It sweats salt."),),
              )

            A way builds both its exits, so pick a direction the other room has free. Then, as
            superuser, or as your next restart does for you:

              |wpy from world.build import build_world; self.msg(build_world())|n

            Building twice does no harm. It makes what is missing and leaves alone what you have
            changed in the game. To put all descriptions back as written:
            |wbuild_world(reset_descriptions=True)|n.

            # subtopics

            ## In the game

            The usual commands work too (|whelp dig|n, |whelp create|n, |whelp desc|n). A detail,
            which can be looked at but is not listed or taken, is made with:

              |wcreate/drop sea wall:world.rooms.Detail|n
              |wdesc sea wall = It sweats salt.|n

            ## Assistants

            Another |wResident|n in world/library.py is another assistant. What it should know
            goes into its facts, one short sentence each: it knows the world by nothing else, so
            keep them true when you move things.
        """,
    },
]
