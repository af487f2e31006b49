"""Where `make play` begins: refuses a Python that cannot run the game, then hands over.

This file and `pythons` must be readable by any Python from 3.8 on, or the refusal would be a
SyntaxError instead of a sentence.
"""

import sys

from server.play import pythons

if not pythons.is_supported(tuple(sys.version_info)):
    sys.exit(pythons.refusal(tuple(sys.version_info), sys.executable))

from server.play.commands import main

sys.exit(main(sys.argv[1:]))
