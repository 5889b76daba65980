"""``python -m reticent``: the command line, where the script ``reticent`` is not on the path."""

from reticent.cli import main

main()
