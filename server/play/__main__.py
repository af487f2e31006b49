"""Entry point of `make play`: refuse a Python that cannot run the game, then run `commands`.

This file and `pythons` must be valid syntax in Python 3.8, or the refusal would be a SyntaxError
instead of a sentence.
"""

import sys

from server.play import pythons

if not pythons.is_supported(tuple(sys.version_info)):
    sys.exit(pythons.refusal(tuple(sys.version_info), sys.executable))

from server.play.commands import main

sys.exit(main(sys.argv[1:]))
