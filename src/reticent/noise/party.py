"""One party as a process: from its settings and rows to its result, with its own budget.

The process started by ``run_local`` communicates through pipes: it reads a line of JSON with its settings and rows,
prints its listening port, reads the others' addresses, and prints its result. No secret is on a command line, in an
environment or in a file.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from reticent.base.exact import exact
from reticent.base.privacy_cost import Amounts, DeclaredBudget, LossBound, PrivacyCost
from reticent.errors import Cancelled, LedgerError, PolicyError, ReticentError
from reticent.noise.agreement import LONGEST
from reticent.noise.channels import Identity, LinkSession
from reticent.noise.faults import LeftOnPurpose, misbehaving
from reticent.noise.network import Network, NoiseAborted
from reticent.noise.protocol import Charge, PartyResult, take_part, take_part_as_client
from reticent.noise.rounds import PartyAddress, assemble
from reticent.noise.tasks import JointTask

PATIENCE = 30.0
GATHERING = 60.0
TOTAL = 3600.0
MOST_DELTA = "1e-5"
_LOOPBACK = "127.0.0.1"
_ASK = 0.25


@dataclass(frozen=True)
class LifetimeBudget:
    """The privacy account of a party, in its own ledger: the total epsilon and delta allowed for all noisy releases of its data set."""

    ledger: Path
    dataset: str
    epsilon: str
    delta: str = MOST_DELTA

    def check(self, task: JointTask) -> None:
        """Refuse to start a run that the account cannot pay: aborting now is free, and discloses nothing about rows."""
        from reticent.ledger import Ledger

        with Ledger(self.ledger) as ledger:
            try:
                ledger.affordable(self.dataset, self._cost(task), self.declared)
            except LedgerError as error:
                raise LedgerError(f"{error} Nothing was sent.") from None

    def charge(self, task: JointTask) -> None:
        """Charge the run's epsilon and delta durably before anything is opened; a later run is a new charge, whatever the outcome of this one.

        Runs and releases of the same rows are not judged together: each has its own guarantee, and losses add up in the account.
        """
        from reticent.ledger import Ledger

        with Ledger(self.ledger) as ledger:
            ledger.charge(self.dataset, self._cost(task), self.declared, kind="budget")

    @property
    def declared(self) -> DeclaredBudget:
        """The totals as a declared budget."""
        return DeclaredBudget(Amounts(exact(self.epsilon, "epsilon", low=0), exact(self.delta, "delta", low=0)))

    def _cost(self, task: JointTask) -> PrivacyCost:
        """Return the cost for replaced rows only: the number of rows is disclosed to the others."""
        loss = LossBound(exact(task.epsilon, "epsilon"), exact(task.delta, "delta"))
        return PrivacyCost(f"joint {task.query} in session {task.session}", {"replace": loss})


@dataclass(frozen=True)
class PartySettings:
    """All inputs of one party: the task, its number, all certificates and addresses, and its own private key.

    ``keys`` are the certificates of all parties, then of all clients; ``places`` the parties' addresses. ``patience``
    is the deadline of the first round in seconds, ``gathering`` how long to wait for connections, ``total`` the
    deadline of the whole run.
    """

    task: JointTask
    me: int
    identity: Identity = field(repr=False)
    keys: tuple[bytes, ...]
    places: tuple[PartyAddress, ...]
    patience: float = PATIENCE
    gathering: float = GATHERING
    budget: LifetimeBudget | None = None
    total: float = TOTAL

    @property
    def is_client(self) -> bool:
        """True if this party shares its rows and leaves."""
        return self.me >= self.task.parties

    def __post_init__(self) -> None:
        """Check that every party has a certificate of its own, and that the private key is that of this party."""
        all_parties = self.task.parties + self.task.clients
        if len(set(self.keys)) != all_parties or len(self.keys) != all_parties:
            raise PolicyError(
                f"{all_parties} different certificates are needed, one for each party.",
                setting=("keys",),
                value=len(self.keys),
            )
        if not 0 <= self.me < all_parties or self.keys[self.me] != self.identity.public:
            raise PolicyError(
                f"The private key does not match the certificate of party {self.me + 1}.",
                setting=("identity",),
            )

    @property
    def first_messages(self) -> int:
        """Return the maximum message length before all rows are declared: echoes of all declarations."""
        return (self.task.parties + self.task.clients + 1) * 2 * LONGEST


@dataclass(frozen=True)
class RunFigures:
    """Resources used by a run: rounds, bytes sent on all links, seconds to connect and to compute, and CPU seconds of the process."""

    rounds: int
    bytes_sent: int
    connecting: float
    computing: float
    processor: float


_Ended = tuple[PartyResult | None, RunFigures]


def run_party(
    settings: PartySettings,
    values: Sequence[int],
    listening: socket.socket | None = None,
    behaviour: str | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[PartyResult | None, RunFigures]:
    """Take part in one run as one party, and return its result (None for a client, which leaves before there is one).

    It listens at its address in ``settings.places``, unless a bound socket is given. ``behaviour`` (trials only) names
    a fault to commit. ``stop`` is polled; once it returns true the party leaves with
    :class:`reticent.errors.Cancelled`, which states the cost. :class:`NoiseAborted` if there is no answer.
    """
    _check(settings, values)
    if listening is None and not settings.is_client:
        address = settings.places[settings.me]
        listening = bound(address.host, address.port)
    charges: list[None] = []

    def charge() -> None:
        charges.append(None)
        _charge(settings)

    run = _run(settings, values, listening, behaviour, charge)
    return asyncio.run(run if stop is None else _stoppable(run, stop, charges))


async def _stoppable(run: Coroutine[Any, Any, _Ended], stop: Callable[[], bool], paid: Sequence[None]) -> _Ended:
    """Run until done or stopped; ``paid`` is non-empty from the moment the answer may have been opened."""
    task = asyncio.create_task(run)
    while not task.done():
        await asyncio.wait({task}, timeout=_ASK)
        if not task.done() and stop():
            task.cancel()
            await asyncio.wait({task})
            cost = (
                "The answer may have been opened, so the run was charged where there is a budget."
                if paid
                else "Nothing was opened and nothing was charged."
            )
            raise Cancelled(f"Stopped on request while computing jointly. {cost}", "computing jointly")
    return task.result()


def _charge(settings: PartySettings) -> None:
    if settings.budget is not None:
        settings.budget.charge(settings.task)


def _check(settings: PartySettings, values: Sequence[int]) -> None:
    """Refuse rows that do not fit the query, and a run that the party's budget cannot pay."""
    settings.task.check_rows(values, f"Party {settings.me + 1}")
    if settings.budget is not None:
        settings.budget.check(settings.task)


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free port."""
    return socket.create_server((host, port), backlog=128)


async def _run(
    settings: PartySettings,
    values: Sequence[int],
    listening: socket.socket | None,
    behaviour: str | None,
    charge: Charge,
) -> _Ended:
    """Connect to the others, take part in the protocol, and return the result with the resources used."""
    task, began = settings.task, time.monotonic()
    links = await assemble(
        LinkSession(task.session, settings.me, settings.identity, settings.keys),
        settings.places,
        task.threshold,
        listening,
        # A client waits while the parties agree on their reply.
        patience=settings.patience * (10 if settings.is_client else 1),
        gathering=settings.gathering,
        largest=settings.first_messages,
        total=settings.total,
    )
    network: Network = links if behaviour is None else misbehaving(links, behaviour, task.threshold)
    connected, result = time.monotonic(), None
    try:
        if settings.is_client:
            # A client leaves before there is an answer, so it pays before its rows are shared.
            charge()
            await take_part_as_client(network, task, values)
        else:
            result = await take_part(network, task, values, charge)
    finally:
        computed_at = time.monotonic()
        await links.leave()
    return result, RunFigures(
        links.rounds,
        links.bytes_sent,
        connecting=connected - began,
        computing=computed_at - connected,
        processor=time.process_time(),
    )


def _settings(payload: dict[str, Any]) -> PartySettings:
    """Parse the settings from the pipe; the others' addresses are not known yet."""
    budget = payload["budget"]
    return PartySettings(
        task=JointTask.from_json(payload["task"]),
        me=payload["me"],
        identity=Identity.from_bytes(bytes.fromhex(payload["key"])),
        keys=tuple(bytes.fromhex(key) for key in payload["keys"]),
        places=(),
        patience=payload["patience"],
        gathering=payload["gathering"],
        budget=LifetimeBudget(Path(budget[0]), *budget[1:]) if budget else None,
        total=payload["total"],
    )


def _reported(payload: dict[str, Any], settings: PartySettings, listening: socket.socket | None) -> dict[str, Any]:
    """Return the result of a run as plain data, also of a failed one."""
    try:
        result, figures = asyncio.run(
            _run(settings, payload["values"], listening, payload["behaviour"], partial(_charge, settings))
        )
    except NoiseAborted as aborted:
        return {"aborted": str(aborted), "blamed": aborted.blamed, "opened": aborted.opened}
    except ReticentError as error:
        return {"aborted": str(error), "blamed": {}, "opened": False}
    report = {"figures": figures.__dict__}
    if result is None:
        return report
    return {
        **report,
        "numbers": result.numbers,
        "coins": result.coins,
        "included": result.included,
        "blamed": result.blamed,
        "transcript": result.transcript,
    }


def main() -> None:
    """The process of one local party; see the module's docstring for what it reads and writes."""
    payload = json.loads(sys.stdin.readline())
    settings = _settings(payload)
    try:
        _check(settings, payload["values"])
    except ReticentError as error:
        print(json.dumps({"port": 0}), json.dumps({"aborted": str(error)}), sep="\n", flush=True)
        return
    listening = None if settings.is_client else bound(_LOOPBACK, 0)
    print(json.dumps({"port": listening.getsockname()[1] if listening else 0}), flush=True)
    settings = replace(
        settings, places=tuple(PartyAddress(_LOOPBACK, port) for port in json.loads(sys.stdin.readline()))
    )
    try:
        report = _reported(payload, settings, listening)
    except LeftOnPurpose:
        os._exit(1)
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
