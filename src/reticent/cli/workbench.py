"""``reticent workbench``: from a file to a certified release in the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.console import console


def workbench(
    opened: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE | POLICY | RELEASE]", help="A file of rows, a policy, or the folder of a release."
        ),
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="The port (default: 8731, or the next free one).")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link and do not open a browser.")] = False,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on. Other machines need a certificate and a password.")
    ] = "127.0.0.1",
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="A TLS certificate (PEM), for --host.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The private key of the certificate (PEM).")] = None,
) -> None:
    """Open the workbench in the browser: look at a file, choose what must stay private, and publish a certified
    release.

    It listens on this machine only and admits the browser that opens the link. The password for --host is read from
    RETICENT_WORKBENCH_PASSWORD.

    Example: reticent workbench patients.csv
    """
    from reticent.base.extras import needed

    for package in ("fastapi", "uvicorn", "python_multipart"):
        needed(package, "workbench", "The workbench")
    from reticent.workbench import serve

    serve(
        opened,
        host=host,
        port=port,
        browser=not no_browser,
        certificate=certificate,
        key=key,
        password=os.environ.get("RETICENT_WORKBENCH_PASSWORD"),
        say=lambda text: console().print(text, soft_wrap=True),
    )
