"""Writes ``src/reticent/__init__.pyi``: what editors and type checkers see of ``import reticent as rt``.

python -m tests.public_face        writes the file anew; ``tests/test_public_face.py`` holds it against the registry
"""

from __future__ import annotations

from pathlib import Path

from reticent.registry import PUBLIC, ROOMS

STUB = Path(__file__).parents[1] / "src" / "reticent" / "__init__.pyi"
_HEAD = '''"""The public names of Reticent, for editors and type checkers. Written by ``python -m tests.public_face``: do not edit."""

'''


def stub() -> str:
    """The text of the stub: every public name with the module that it is loaded from."""
    names = [f"from {module} import {name} as {name}\n" for name, module in PUBLIC.items()]
    rooms = [
        f"from {package} import {module} as {name}\n"
        for name, (package, _, module) in ((name, path.rpartition(".")) for name, path in ROOMS.items())
    ]
    return f"{_HEAD}{''.join(sorted(names))}{''.join(sorted(rooms))}\n__version__: str\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
