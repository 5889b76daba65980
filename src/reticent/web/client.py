"""A client of the service that needs only the standard library."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from reticent.errors import DataError, Denied, PolicyError

_SECONDS = 300


def ask(url: str, token: str | None, sql: str, allow_noise: bool = False) -> dict[str, Any]:
    """Return the reply of the service at ``url``; a refusal is raised with the service's message."""
    if not url.startswith(("http://", "https://")):
        raise PolicyError(f"The address of a service must begin with http:// or https://, but it is {url!r}.")
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise PolicyError("The token contains a space or an invalid character. Copy it exactly as shown.")
    body = json.dumps({"sql": sql, "allow_noise": allow_noise}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token or ''}"}
    try:
        request = urllib.request.Request(f"{url.rstrip('/')}/v1/query", data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            reply: dict[str, Any] = json.loads(response.read())
            return reply
    except urllib.error.HTTPError as error:
        raise _refusal(error) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = str(getattr(error, "reason", error)).rstrip(".")
        raise DataError(f"The service at {url} cannot be reached: {reason}.") from None


def _refusal(error: urllib.error.HTTPError) -> PolicyError | Denied | DataError:
    """Return the error of an HTTP status, with the message of the service if its body has one."""
    try:
        message = str(json.loads(error.read())["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the answer was {error.code} {error.reason}."
    if error.code in (401, 403, 429):
        return Denied(message)
    return DataError(f"The service replied: {message}") if error.code >= 500 else PolicyError(message)
