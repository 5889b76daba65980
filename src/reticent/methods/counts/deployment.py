"""One party of several on separate hosts: its config file, its run, and the resulting release.

The config is the same for all parties but for ``me``, ``key``, ``data`` and ``budget``; parties whose configs differ
otherwise detect it before anything is shared. With clients, the parties are facilitators: they compute and have no
rows, and the clients share their rows with them and leave.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.base.disclosures import unjudged
from reticent.base.documents import LARGEST_SETTINGS, parse_toml, read_document
from reticent.base.exact import exact
from reticent.conditions import Condition
from reticent.definitions import NoisyCounts
from reticent.errors import DataError, PolicyError, ReticentError, did_you_mean
from reticent.io import read_frame
from reticent.methods.counts.details import check_size
from reticent.methods.counts.method import ComputedCounts, JointCounts, NoisyCells, joint_cells
from reticent.methods.randomize import ViewDomain
from reticent.noise import (
    GATHERING,
    MOST_DELTA,
    PATIENCE,
    TOTAL,
    Identity,
    JointTask,
    LifetimeBudget,
    NoisePlan,
    PartyAddress,
    PartyResult,
    PartySettings,
    RunFigures,
    plan,
    public_key_of,
    read_certificate,
    run_party,
)
from reticent.release import Release, publish
from reticent.table import Table

_REQUIRED = object()
_ANSWER: dict[str, Any] = {
    "query": _REQUIRED,
    "epsilon": 1,
    "delta": "1e-6",
    "faults": None,
    "law": "binomial",
    "level": "byzantine",
    "bits": 1,
    "most_rows": None,
    "domain": None,
}
_SECTIONS: dict[str, dict[str, Any]] = {
    "answer": _ANSWER,
    "data": {"source": _REQUIRED, "where": None, "column": None},
    "budget": {"ledger": None, "dataset": _REQUIRED, "epsilon": _REQUIRED, "delta": MOST_DELTA},
    "party": {"name": _REQUIRED, "address": _REQUIRED, "certificate": _REQUIRED},
    "client": {"name": _REQUIRED, "certificate": _REQUIRED},
    "time": {"patience": PATIENCE, "gathering": GATHERING, "total": TOTAL},
}
_TOP = {"session": _REQUIRED, "me": _REQUIRED, "key": _REQUIRED}


@dataclass(frozen=True)
class PartyConfig:
    """A validated party config: everything but its rows.

    ``names`` are all parties in the order of the file, then all clients; ``rows`` is the location of this party's own rows, None for a facilitator.
    """

    path: Path
    names: tuple[str, ...]
    me: str
    settings: PartySettings = field(repr=False)
    plan: NoisePlan
    domain: ViewDomain | None
    rows: Mapping[str, Any] | None

    @classmethod
    def read(cls, path: str | Path) -> PartyConfig:
        """Read the config from a TOML file; paths in it are relative to its folder. Errors name the file and the entry."""
        file = Path(path)
        try:
            payload = parse_toml(read_document(file, LARGEST_SETTINGS).decode("utf-8"))
        except OSError as error:
            raise DataError(f"{file} cannot be read: {error.strerror}.") from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DataError(f"{file} is not valid TOML: {error}.") from None
        try:
            return _config(file, payload)
        except ReticentError as problem:
            raise problem.at(str(file)) from None

    def values(self) -> tuple[list[int], pl.DataFrame]:
        """Return this party's rows encoded for the protocol, and as a frame; a facilitator has none."""
        if self.rows is None:
            return [], pl.DataFrame()
        frame = read_frame(self.path.parent / self.rows["source"])
        return encoded(frame, self.plan.query, self.rows["where"], self.rows["column"], self.domain), frame

    def run(self, values: list[int], context: Context | None = None) -> tuple[PartyResult | None, RunFigures]:
        """Take part in the run, unless stopped, and return its result, None for a client;
        :class:`reticent.noise.NoiseAborted` if there is no answer.
        """
        return run_party(self.settings, values, stop=(context or Context()).stop)

    def release(self, result: PartyResult, figures: RunFigures, frame: pl.DataFrame, context: Context) -> Release:
        """Return the noisy histogram as a release, recorded in the party's own ledger if it has a budget, which was
        charged before the answer was opened.
        """
        if self.domain is None:
            raise PolicyError("Only a histogram can be published as a release; a count or a sum is one number.")
        budget = self.settings.budget
        # A facilitator has no rows, and the release is about none of them: the table only defines the columns.
        column_rows = frame.select(self.domain.names) if frame.width else self.domain.unpack(np.arange(1))
        table = Table(
            column_rows,
            quasi=list(self.domain.names),
            nulls="category",
            dataset=None if budget is None else budget.dataset,
        )
        noisy_cells = self.cells(result, figures)
        method = JointCounts(
            domain=self.domain.as_json(), faults=self.plan.faults, law=self.plan.law, level=self.plan.level
        )
        return publish(
            table,
            NoisyCounts(self.plan.epsilon, self.plan.delta),
            ComputedCounts(noisy_cells, method.describe(), unjudged),
            ledger=None if budget is None else budget.ledger,
            context=context,
        )

    def cells(self, result: PartyResult, figures: RunFigures) -> NoisyCells:
        """Return the noisy counts with their distributions, as every party of the run computes them."""
        assert self.domain is not None
        blamed = {self.names[party]: why for party, why in result.blamed.items()}
        clients = range(self.plan.parties, len(self.names))
        return joint_cells(self.plan, result, result.numbers, figures.rounds, self.domain, {"blamed": blamed}, clients)


def encoded(
    frame: pl.DataFrame, query: str, where: str | None, column: str | None, domain: ViewDomain | None
) -> list[int]:
    """Encode rows as integers: whether they meet a condition, their cell of a domain, or the values of a column."""
    if query == "histogram":
        if domain is None:
            raise PolicyError(
                "A histogram needs a domain: the values of its columns, declared beforehand.", setting=("domain",)
            )
        check_size(domain)
        return [int(cell) for cell in domain.pack(domain.frame_columns(frame))]
    if query == "count":
        if where is None:
            raise PolicyError("A count needs a condition (where), such as \"diagnosis = 'flu'\".", setting=("where",))
        return [int(met) for met in Condition.parse(where).mask(frame)]
    if column is None:
        raise PolicyError("A sum needs a column of whole numbers.", setting=("column",))
    if column not in frame.columns:
        raise DataError(f"The data have no column {column!r}.{did_you_mean(column, frame.columns)}", column=column)
    values = frame[column]
    if not values.dtype.is_integer() or values.null_count():
        raise DataError(f"Column {column!r} must hold whole numbers without nulls to be summed.", column=column)
    return [int(value) for value in values]


def _config(file: Path, payload: Mapping[str, Any]) -> PartyConfig:
    """Check the entries of a party's file and return its config: parties, plan, keys, times and budget."""
    sections = {name: value for name, value in payload.items() if name in _SECTIONS}
    top = _filled(
        {name: value for name, value in payload.items() if name not in _SECTIONS}, _TOP, "", (*_TOP, *_SECTIONS)
    )
    answer = _section(sections, "answer")
    party_entries = sections.get("party")
    if not isinstance(party_entries, list) or not party_entries:
        raise PolicyError(
            "The parties are missing: write one [[party]] with name, address and certificate for each.",
            setting=("party",),
        )
    parties, clients = _members(party_entries, "party"), _members(sections.get("client", []), "client")
    names = tuple(str(member["name"]) for member in (*parties, *clients))
    if len(set(names)) < len(names):
        raise PolicyError("Two parties have the same name.", setting=("party",))
    if top["me"] not in names:
        raise PolicyError(
            f"me = {top['me']!r} is not one of the parties: {', '.join(names)}.{did_you_mean(top['me'], names)}",
            setting=("me",),
        )
    faults = answer["faults"]
    if faults is None:
        faults = (len(parties) - 1) // (3 if answer["level"] == "byzantine" else 2)
    planned = plan(
        answer["epsilon"], answer["delta"], len(parties), faults, answer["query"], answer["law"], answer["bits"], answer["level"]
    )  # fmt: skip
    domain = None if answer["domain"] is None else ViewDomain.of(_table(answer["domain"], "answer.domain"))
    if (domain is None) != (planned.query != "histogram"):
        raise PolicyError(
            "[answer.domain] lists the public cells of a histogram: it is needed for query = 'histogram', and for nothing else.",
            setting=("answer", "domain"),
        )
    folder = file.parent
    me = names.index(top["me"])
    loaded = Identity.load(folder / str(top["key"]))
    keys = tuple(
        read_certificate(folder / str(member["certificate"]), name)
        for member, name in zip((*parties, *clients), names, strict=True)
    )
    try:
        identity = loaded.certified(keys[me])
    except DataError:
        raise PolicyError(
            f"key = {top['key']!r} is not the private key of the certificate of {top['me']!r}.", setting=("key",)
        ) from None
    if len(set(map(public_key_of, keys))) < len(keys):
        raise PolicyError("Two parties have the same key.", setting=("party",))
    session = str(top["session"]).strip()
    if not session:
        raise PolicyError("session must be a name that all parties agree on for this run.", setting=("session",))
    time = _section(sections, "time", {})
    settings = PartySettings(
        JointTask.of(planned, session, None if domain is None else domain.size, len(clients), answer["most_rows"]),
        me,
        identity,
        keys,
        tuple(_place(str(member["address"]), str(member["name"])) for member in parties),
        _seconds(time["patience"], "patience"),
        _seconds(time["gathering"], "gathering"),
        _budget(sections, folder),
        _seconds(time["total"], "total"),
    )
    if not clients or settings.is_client:
        return PartyConfig(file, names, top["me"], settings, planned, domain, _section(sections, "data"))
    for name in ("data", "budget"):
        if name in sections:
            raise PolicyError(
                f"{top['me']!r} is a facilitator: with clients, the parties compute and have no rows. Remove [{name}].",
                setting=(name,),
            )
    return PartyConfig(file, names, top["me"], settings, planned, domain, None)


def _members(listed: Any, kind: str) -> list[dict[str, Any]]:
    """Return the parties or clients, each with its settings."""
    if not isinstance(listed, list):
        raise PolicyError(f"Write one [[{kind}]] for each {kind}.", setting=(kind,))
    return [
        _filled(_table(section, f"{kind} {number}"), _SECTIONS[kind], f"{kind} {number}: ")
        for number, section in enumerate(listed, 1)
    ]


def _budget(sections: Mapping[str, Any], folder: Path) -> LifetimeBudget | None:
    """Return the lifetime budget of a party and its ledger; None if the config has no such section."""
    if "budget" not in sections:
        return None
    budget_section = _section(sections, "budget")
    ledger = budget_section["ledger"]
    if ledger is None:
        raise PolicyError(
            "[budget]: ledger must be the file that records the spent budget.", setting=("budget", "ledger")
        )
    for name in ("epsilon", "delta"):
        exact(budget_section[name], f"[budget]: {name}", low=0)
    return LifetimeBudget(
        folder / str(ledger),
        str(budget_section["dataset"]),
        str(budget_section["epsilon"]),
        str(budget_section["delta"]),
    )


def _section(sections: Mapping[str, Any], name: str, default: Mapping[str, Any] | None = None) -> dict[str, Any]:
    if name not in sections and default is None:
        raise PolicyError(f"The section [{name}] is missing.", setting=(name,))
    return _filled(_table(sections.get(name, default), f"[{name}]"), _SECTIONS[name], f"[{name}]: ")


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PolicyError(f"{name} must be a table of settings, but it is {value!r}.", setting=(name,))
    return value


def _filled(
    settings: Mapping[str, Any], defaults: Mapping[str, Any], where: str, names: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """Return the settings with their defaults; an unknown or missing one raises a :class:`PolicyError`."""
    for name in settings:
        if name not in defaults:
            setting_names = names or tuple(defaults)
            raise PolicyError(
                f"{where}there is no setting {name!r}.{did_you_mean(name, setting_names)} The settings are: {', '.join(setting_names)}.",
                setting=(name,),
            )
    for name, default in defaults.items():
        if name not in settings and default is _REQUIRED:
            raise PolicyError(f"{where}{name} is missing.", setting=(name,))
    return {**defaults, **settings}


def _place(address: str, name: str) -> PartyAddress:
    """Return the host and port of an address. Raises for anything else."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise PolicyError(
            f"The address of party {name!r} must be host:port, such as 10.0.0.1:9001, but it is {address!r}.",
            setting=("party", "address"),
        )
    return PartyAddress(host.strip("[]"), int(port))


def _seconds(value: Any, name: str) -> float:
    """Return a duration. Raises unless it is a positive number up to a day."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        raise PolicyError(
            f"[time]: {name} must be a number of seconds up to a day, but it is {value!r}.", setting=("time", name)
        )
    return float(value)
