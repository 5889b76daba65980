"""The verifier's page: one HTML file with the verifying core, its readers and its texts, which works from disk without
network access.

ECMAScript modules are concatenated into one script in the order of their imports, each as a function that returns its
exports. Nothing is minified: an editor shows the modules as they are in the repository.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath

import reticent
from reticent.base.files import write_whole
from reticent.errors import DataError

_IMPORT = re.compile(r"^import\s*\{([^}]*)\}\s*from\s*['\"](\.[^'\"]+)['\"];?[ \t]*\n", re.MULTILINE)
_EXPORTED = re.compile(r"^export\s+(?=(?:async\s+)?(?:function\*?|class|const|let|var)\s+(\w+))", re.MULTILINE)
_LIST = re.compile(r"^export\s*\{([^}]*)\};?[ \t]*\n", re.MULTILINE)
_POLICY = "default-src 'none'; script-src {script}; style-src {style}; worker-src blob:; img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"


def write_page(path: str | Path) -> Path:
    """Write the verifier's page to a file, atomically."""
    target = Path(path)
    try:
        write_whole(target, verifier_page().encode())
    except OSError as error:
        raise DataError(f"The verifier's page cannot be written to {str(target)!r}: {error.strerror}.") from None
    return target


@cache
def verifier_page() -> str:
    """Return the page as text. The same version always produces the same bytes."""
    judge, style = bundled("page/judge.js"), _source("page/page.css")
    script = _source("page/page.js")
    policy = _POLICY.format(script=f"{_hash(script)} blob:", style=_hash(style))
    page = _source("page/page.html")
    # A script element ends at the first such mark, even inside a string.
    assert not any(mark in part.lower() for part in (judge, script) for mark in ("</script", "<!--"))
    for name, content in (
        ("POLICY", policy),
        ("STYLE", style),
        ("VERSION", reticent.__version__),
        ("SCRIPT", script),
        ("JUDGE", judge),
    ):
        page = page.replace(f"@{name}@", content)
    return page


def bundled(entry: str) -> str:
    """Return a module of the verifier and all its imports as one script."""
    parts: dict[str, str] = {}
    _collect(PurePosixPath(entry), parts)
    return '"use strict";\n' + "\n".join(parts.values())


def _collect(module: PurePosixPath, parts: dict[str, str]) -> None:
    """Add the code of a module to ``parts``, after that of the modules that it imports; its exports become fields of a constant."""
    if str(module) in parts:
        return
    source = _source(str(module))
    for _, path in _IMPORT.findall(source):
        _collect(_beside(module, path), parts)

    def imported(statement: re.Match[str]) -> str:
        """Return an import as the destructuring of the constant that holds the exports of the module."""
        names = re.sub(r"\s+as\s+", ": ", " ".join(statement[1].split()))
        return f"const {{ {names} }} = {_name(_beside(module, statement[2]))};\n"

    exported = _EXPORTED.findall(source) + [
        name.strip() for names in _LIST.findall(source) for name in names.split(",")
    ]
    body = _LIST.sub("", _EXPORTED.sub("", _IMPORT.sub(imported, source)))
    parts[str(module)] = (
        f"// ---- {module} ----\nconst {_name(module)} = (() => {{\n{body}\nreturn {{ {', '.join(filter(None, exported))} }};\n}})();\n"
    )


def _beside(module: PurePosixPath, path: str) -> PurePosixPath:
    """Return the path of a module that another one imports by a relative path."""
    parts: list[str] = []
    for part in (module.parent / path).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)


def _name(module: PurePosixPath) -> str:
    return re.sub(r"\W", "_", str(module.with_suffix("")))


def _source(name: str) -> str:
    return files("reticent.verifier").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
