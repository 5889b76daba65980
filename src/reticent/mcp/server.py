"""The server: tools over the files below one folder, and resources. Replies come from :mod:`reticent.mcp.tool_replies` alone."""

from __future__ import annotations

import json
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

import reticent
from reticent.errors import MissingPackage
from reticent.mcp import tool_replies as replies
from reticent.mcp.publications import PublicationRequest, RequestFolder
from reticent.registry import DEFINITIONS, METHODS

PAGES = (
    "policy",
    "definitions",
    "choosing",
    "first-hour",
    "attacks",
    "releases",
    "glossary",
    "command-line",
    "pipeline",
    "mcp",
)
"""The documentation pages offered as resources: ``reticent://docs/policy`` and so on."""

_INSTRUCTIONS = (
    "Reticent publishes tables about people with proven privacy. These tools return names of columns, counts and shares, never rows or values: do not ask users to paste data. "
    "Usual order: inspect a file (output= writes a policy), assess, preview, compare, gate; then request_publication, which a person confirms in a terminal; then verify."
)
PolicyPath = Annotated[str, Field(description="The path of a policy (.toml), below the folder that is served.")]
ReleasePath = Annotated[str, Field(description="The folder of a release, below the folder that is served.")]


def create_server(root: Path, requests: RequestFolder) -> Any:
    """Create the server of the files below ``root``; publication requests go to ``requests``."""
    try:
        from mcp.server import MCPServer
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"The server needs the package {error.name}, which is not installed. Install it with: pip install 'reticent[mcp]'"
        ) from None
    server = MCPServer("reticent", version=reticent.__version__, instructions=_INSTRUCTIONS, log_level="ERROR")
    _add_tools(server, partial(_inside, root.resolve()), requests)
    _add_resources(server)
    return server


def _inside(root: Path, relative: str) -> Path:
    """Return a path below the root; links that lead out of it are refused."""
    path = (root / relative).resolve()
    if not path.is_relative_to(root):
        raise replies.OutsideRoot(f"{relative!r} is not below the folder that is served.")
    return path


def _add_tools(server: Any, inside: Any, requests: RequestFolder) -> None:
    """Add the tools of the assistant to the server; ``inside`` turns a name into a path below the folder that is served, or raises."""

    def existing(relative: str) -> Path:
        """Return the path of an existing file below the folder that is served. Raises for any other name."""
        path: Path = inside(relative)
        if not path.exists():
            raise replies.OutsideRoot(f"There is no {relative!r} below the folder that is served.")
        return path

    def optional(relative: str | None) -> Path | None:
        return None if relative is None else existing(relative)

    def inspect(
        path: Annotated[str, Field(description="A data file below the folder that is served.")],
        output: Annotated[str | None, Field(description="Write the proposed policy to this new file.")] = None,
    ) -> dict[str, Any]:
        """Profile a data file: columns, proposed roles, counts. With output, the proposed policy is written next to the
        data; its text is not returned.
        """
        return replies.guarded(lambda: replies.inspected(existing(path), None if output is None else inside(output)))

    def assess(policy: PolicyPath) -> dict[str, Any]:
        """Measure the disclosure risk of the unmodified table of a policy: smallest group, unique records, each definition's verdict."""
        return replies.guarded(lambda: replies.assessed(existing(policy)))

    def preview(policy: PolicyPath, attacks: bool = True) -> dict[str, Any]:
        """Show what a policy would publish: rows, suppressed rows, groups, loss by column, success of attacks. Nothing is recorded."""
        return replies.guarded(lambda: replies.previewed(existing(policy), attacks))

    def compare(policy: PolicyPath) -> dict[str, Any]:
        """Compare the policy's method with every other one that satisfies its definition: risk and loss of each. Nothing is recorded."""
        return replies.guarded(lambda: replies.compared(existing(policy)))

    def explain_certificate(release: ReleasePath) -> dict[str, Any]:
        """Show what the certificate of a release claims, against which adversary, about which columns, and who signed
        it. These are the publisher's claims: verify recomputes them.
        """
        return replies.guarded(lambda: replies.explained(existing(release)))

    def verify(release: ReleasePath, key: str | None = None, population: str | None = None) -> dict[str, Any]:
        """Recompute every claim of a release from its public side; key is the publisher's .pub file."""
        return replies.guarded(lambda: replies.verified(existing(release), optional(key), optional(population)))

    def gate(target: Annotated[str, Field(description="A policy or a release.")], limits: str) -> dict[str, Any]:
        """Check a policy or a release against a limits file: which limits are met and which are not."""
        from reticent.gates import gate as check_limits

        return replies.guarded(lambda: check_limits(existing(target), existing(limits)).as_dict())

    def request_publication(policy: PolicyPath, output: str, sign: str | None = None) -> dict[str, Any]:
        """Request a publication. Nothing is published until a person confirms it in a terminal; publication_status shows when."""

        def requested() -> dict[str, Any]:
            request = PublicationRequest.of(existing(policy), inside(output), optional(sign))
            requests.add(request)
            return {
                **request.status(),
                "confirm": f"A person runs in a terminal: reticent mcp approve {request.number}",
            }

        return replies.guarded(requested)

    def publication_status(request: str) -> dict[str, Any]:
        """Whether a requested publication is pending, published or declined."""
        return replies.guarded(lambda: requests.find(request).status())

    for tool in (
        inspect,
        assess,
        preview,
        compare,
        explain_certificate,
        verify,
        gate,
        request_publication,
        publication_status,
    ):
        server.add_tool(tool)


def _add_resources(server: Any) -> None:
    """Add what an assistant may read: the schemas of policies and limits, the catalogues, and pages of the documentation."""
    from reticent.gates import LimitSections
    from reticent.policy import Sections

    def add(uri: str, kind: str, text: str) -> None:
        server.resource(uri, name=uri.partition("://")[2], mime_type=kind)(_constant(text))

    add("reticent://schema/policy", "application/schema+json", _json(Sections.model_json_schema()))
    add("reticent://schema/limits", "application/schema+json", _json(LimitSections.model_json_schema()))
    for name, listed in (("definitions", DEFINITIONS), ("methods", METHODS)):
        add(
            f"reticent://{name}",
            "application/json",
            _json({entry_name: home.help for entry_name, home in listed.items()}),
        )
    for page in PAGES:
        text = _page(page)
        if text is not None:
            add(f"reticent://docs/{page}", "text/markdown", text)


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2)


def _constant(text: str) -> Any:
    def content() -> str:
        """Return text that does not depend on any data."""
        return text

    return content


def _page(name: str) -> str | None:
    """Return a documentation page: from the package, or in a checkout from docs/; None if neither has it."""
    packaged = Path(str(files("reticent.mcp"))) / "pages" / f"{name}.md"
    checkout = Path(__file__).resolve().parents[3] / "docs"
    page = packaged if packaged.is_file() else next(checkout.glob(f"*/{name}.md"), None)
    return None if page is None else page.read_text("utf-8")
