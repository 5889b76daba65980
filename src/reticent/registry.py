"""Every name that a policy, a certificate, a manifest or ``rt.`` may use, and the module that defines it.

This is the only such list: ``rt.``, the catalogue of definitions, methods, formats and engines are read from it. It
imports no package; :func:`load` does when a name is used. A package of your own adds names with :func:`register`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, NamedTuple

from reticent.errors import PolicyError, did_you_mean

Kind = Literal["definition", "method", "format", "recoding", "shape", "engine", "table file"]


class Home(NamedTuple):
    """The module of a name, its one-line description, and the attribute there (default: the name itself)."""

    module: str
    help: str = ""
    attribute: str | None = None


DEFINITIONS: dict[str, Home] = {
    "KAnonymity": Home("reticent.definitions.anonymity", "at least k people in every group"),
    "AnyColumns": Home(
        "reticent.definitions.any_columns", "another definition, for adversaries who know any L of the quasi columns"
    ),
    "InTurn": Home(
        "reticent.definitions.in_turn",
        "another definition, for the values of quasi columns among people with equal other columns",
    ),
    "DistinctLDiversity": Home(
        "reticent.definitions.diversity", "at least l different sensitive values in every group"
    ),
    "ProbabilisticLDiversity": Home(
        "reticent.definitions.diversity", "no sensitive value above a share of 1/l in any group"
    ),
    "EntropyLDiversity": Home(
        "reticent.definitions.entropy", "sensitive values as varied as l equally likely ones in every group"
    ),
    "RecursiveLDiversity": Home(
        "reticent.definitions.recursive",
        "an adversary who rules out l-2 sensitive values is still less than c/(c+1) sure",
    ),
    "NegativePositiveDiversity": Home(
        "reticent.definitions.recursive", "the same, and values that must remain possible keep a minimum share"
    ),
    "WorstCaseKnowledge": Home(
        "reticent.definitions.background_knowledge",
        "with any k facts about people, the probability of every value stays below c",
    ),
    "NegatedKnowledge": Home(
        "reticent.definitions.background_knowledge",
        "with any k facts such as 'she has no flu', the probability of every value stays below c",
    ),
    "TCloseness": Home(
        "reticent.definitions.closeness", "sensitive values distributed as in the whole table, within t"
    ),
    "NTCloseness": Home("reticent.definitions.closeness", "the same for groups of fewer than n people"),
    "AlphaKAnonymity": Home(
        "reticent.definitions.shares", "at least k people in every group, no sensitive value above a share of alpha"
    ),
    "PSensitive": Home(
        "reticent.definitions.shares", "at least k people and p different sensitive values in every group"
    ),
    "LAlphaDiversity": Home(
        "reticent.definitions.shares", "at least l different sensitive values in every group, harmless enough together"
    ),
    "XYPrivacy": Home(
        "reticent.definitions.xy_privacy",
        "X is linked to at least k values of Y, to none with a confidence above h",
    ),
    "ConfidenceBounding": Home(
        "reticent.definitions.shares", "none of some sensitive values above a share of h in any group"
    ),
    "CategoryDiversity": Home(
        "reticent.definitions.shares", "less than c of any group in a category of similar values"
    ),
    "RangeDiversity": Home(
        "reticent.definitions.numeric", "less than c of any group's numbers in a range of some length"
    ),
    "KEAnonymity": Home(
        "reticent.definitions.numeric", "at least k different numbers in every group, which span at least e"
    ),
    "EpsilonMAnonymity": Home(
        "reticent.definitions.numeric", "at most 1/m of any group within epsilon of one of its numbers"
    ),
    "BetaLikeness": Home(
        "reticent.definitions.likeness",
        "no sensitive value more than 1 + beta times as frequent in a group as in the whole table",
    ),
    "DeltaDisclosure": Home(
        "reticent.definitions.likeness",
        "sensitive values in a group as frequent as in the whole table, within a factor of 2^delta",
    ),
    "MUnique": Home(
        "reticent.definitions.uniqueness", "at least m rows in every group, all with different sensitive values"
    ),
    "MEligible": Home("reticent.definitions.uniqueness", "no sensitive value above a share of 1/m in any group"),
    "PersonalPrivacy": Home(
        "reticent.definitions.personal",
        "values that people guard have a share of at most h in their group",
    ),
    "KMap": Home("reticent.definitions.population", "at least k people of the population match every group"),
    "DeltaPresence": Home(
        "reticent.definitions.population", "between low and high of the people who match a group are in the table"
    ),
    "BoundedBelief": Home(
        "reticent.definitions.mechanisms", "a prior belief in a record of at most d becomes at most gamma"
    ),
    "ProbabilisticDP": Home(
        "reticent.definitions.probabilistic_dp",
        "replacing one row changes the probability of an output by at most e^epsilon, except with probability delta",
    ),
    "LocalDP": Home(
        "reticent.definitions.local_dp",
        "no true value makes a published value more than e^epsilon times as likely as another",
    ),
    "NoisyCounts": Home(
        "reticent.definitions.noisy_counts",
        "replacing a row changes the probability of published counts by a factor of at most e^epsilon, plus delta",
    ),
    "UnboundedDP": Home(
        "reticent.definitions.unbounded_dp",
        "adding or removing a row changes the probability of an output by a factor of at most e^epsilon, plus delta",
    ),
    "BoundedDP": Home(
        "reticent.definitions.bounded_dp",
        "replacing a record changes the probability of an output by a factor of at most e^epsilon, plus delta",
    ),
    "ConcentratedDP": Home(
        "reticent.definitions.concentrated_dp",
        "a record changes what is published by a bounded Renyi divergence (zCDP)",
    ),
    "CrowdBlending": Home(
        "reticent.definitions.crowd_blending",
        "published people are indistinguishable from k - 1 others, the rest leave no trace",
    ),
    "AverageRisk": Home(
        "reticent.definitions.risk", "people are re-identified with a probability of at most limit on average"
    ),
    "TauSafety": Home(
        "reticent.methods.series.definitions",
        "no value of a person above 1/m for an adversary who follows people through all releases",
    ),
    "MInvariance": Home(
        "reticent.methods.series.definitions",
        "people in several releases keep the set of m or more values of their group (baseline)",
    ),
}
METHODS: dict[str, Home] = {
    "Lattice": Home("reticent.methods.lattice.method", "full-domain generalization, the best one by exact search"),
    "Mondrian": Home("reticent.methods.mondrian.method", "local recoding by recursive splits"),
    "Panel": Home("reticent.methods.panel.method", "people with several rows, grouped by all of their rows together"),
    "Datafly": Home("reticent.baselines.datafly", "greedy full-domain generalization"),
    "RPlusTree": Home("reticent.baselines.rtree.method", "boxes of a tree that grows point by point (baseline)"),
    "Suppress": Home(
        "reticent.methods.suppress.method", "local suppression of single cells, with its cost compared to the minimum"
    ),
    "Gather": Home("reticent.methods.clusters.method", "clusters of people with minimum radius, as centres and radii"),
    "Cellular": Home(
        "reticent.methods.clusters.method", "clusters of people at minimum total cost, as centres and radii"
    ),
    "Anatomy": Home(
        "reticent.methods.anatomy.method", "exact quasi values, and sensitive values in buckets of different ones"
    ),
    "Angelization": Home(
        "reticent.methods.anatomy.angelization", "generalized quasi values, and sensitive values in separate batches"
    ),
    "Bang": Home("reticent.methods.bang.method", "local recoding by a spatial index that yields a release for any k"),
    "AlphaBeta": Home("reticent.methods.randomize.method", "a noisy view: true rows kept at random among false ones"),
    "Frapp": Home("reticent.methods.randomize.method", "every record replaced at random"),
    "Perturbation": Home(
        "reticent.methods.randomize.perturbation", "true rows, with sensitive values kept or sampled at random"
    ),
    "JointCounts": Home("reticent.methods.counts.method", "counts with noise that several parties add together"),
    "CentralCounts": Home("reticent.methods.counts.method", "counts with noise that a trusted curator adds"),
    "GridSample": Home(
        "reticent.methods.grid.method", "the cells of a public grid with enough rows of a random sample"
    ),
    "GridCounts": Home(
        "reticent.methods.grid.method", "a public grid halved where noisy counts are large, with noisy counts"
    ),
    "Synthetic": Home("reticent.methods.synthesize.method", "synthetic rows, sampled by group from the data and noise"),
    "Statistics": Home(
        "reticent.methods.statistics.method", "counts, sums, means, variances and quantiles with noise and intervals"
    ),
    "Marginals": Home(
        "reticent.methods.marginals.method", "synthetic records that fit noisy marginals, with differential privacy"
    ),
    "Republish": Home(
        "reticent.methods.series.method",
        "the next release of a table that changes, safe together with all earlier ones",
    ),
}
FORMATS: dict[str, Home] = {
    "generalize": Home("reticent.methods.grouping.format", "one table of generalized rows", "GENERALIZE"),
    "panel": Home("reticent.methods.panel.format", "generalized rows of people at waves, with their group", "PANEL"),
    "typical": Home("reticent.methods.typical.format", "a typical value per group, and its ranges", "TYPICAL"),
    "bucketize": Home(
        "reticent.methods.anatomy.format", "exact quasi values, and sensitive values by bucket", "BUCKETIZE"
    ),
    "angelize": Home(
        "reticent.methods.anatomy.angelization_format",
        "generalized quasi values, and sensitive values by batch",
        "ANGELIZE",
    ),
    "cells": Home("reticent.methods.suppress.format", "one table in which single cells are suppressed", "CELLS"),
    "clusters": Home("reticent.methods.clusters.format", "clusters with centres, radii and counts", "CLUSTERS"),
    "regions": Home("reticent.methods.bang.format", "nested regions, of which the innermost counts", "REGIONS"),
    "view": Home("reticent.methods.randomize.format", "tuples of a public domain, some true and most not", "VIEW"),
    "records": Home("reticent.methods.randomize.format", "records perturbed one by one", "RECORDS"),
    "perturbed": Home(
        "reticent.methods.randomize.perturbation_format", "true rows with one randomized column", "PERTURBED"
    ),
    "noisy counts": Home(
        "reticent.methods.counts.format", "counts of the cells of a domain, with noise", "NOISY_COUNTS"
    ),
    "grid sample": Home(
        "reticent.methods.grid.format", "cells of a public grid with enough sampled rows", "GRID_SAMPLE"
    ),
    "grid counts": Home("reticent.methods.grid.format", "boxes of a public grid, with noisy counts", "GRID_COUNTS"),
    "synthetic": Home(
        "reticent.methods.synthesize.format", "synthetic rows by group, with the public domain", "SYNTHETIC"
    ),
    "noisy statistics": Home(
        "reticent.methods.statistics.format", "noisy statistics with intervals, and the noisy numbers", "STATISTICS"
    ),
    "marginals": Home(
        "reticent.methods.marginals.format", "synthetic records, and the noisy marginals behind them", "MARGINALS"
    ),
    "series": Home(
        "reticent.methods.series.format", "a release of a series, with the number of counterfeits per group", "SERIES"
    ),
    "batch-series": Home(
        "reticent.methods.series.batch_format",
        "a release of a series in batches, with boxes of k people",
        "BATCH_SERIES",
    ),
}
ENGINES: dict[str, Home] = {
    "local": Home("reticent.engine.local", "rows in memory", "LocalEngine"),
    "streaming": Home("reticent.engine.streaming", "rows of a source, a chunk at a time", "StreamingEngine"),
    "spark": Home("reticent.engine.spark.spark_engine", "rows on a Spark cluster", "SparkEngine"),
}
RECODINGS: dict[str, Home] = {
    "levels": Home("reticent.core.recoding", "a level for each column", "Levels"),
    "regions": Home("reticent.core.recoding", "points to groups", "Regions"),
    "allocation": Home("reticent.methods.grouping.recoding", "rows of a point to several groups", "Allocation"),
    "dealt": Home("reticent.methods.anatomy.recoding", "rows to buckets", "Deal"),
    "coupled": Home("reticent.methods.anatomy.recoding", "labels, and rows to batches", "Coupled"),
}
"""Kinds of saved recodings, which `apply` reads."""
SHAPES: dict[str, Home] = {
    "box": Home("reticent.core.shape", "the product of the labels", "LabelBox"),
    "nested": Home("reticent.methods.bang.shape", "a box with holes", "Nested"),
    "patches": Home("reticent.methods.bang.shape", "several boxes with holes", "Patched"),
    "compacted": Home("reticent.methods.bang.shape", "boxes with holes, and the occupied parts of them", "Compacted"),
    "centre": Home("reticent.methods.clusters.shape", "all points within a radius of a centre", "Ball"),
}
"""Kinds of shapes, by the key that their JSON has."""
DEFAULTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("Lattice", {}),
    ("Mondrian", {}),
    ("Mondrian", {"split": "loss"}),
    ("Bang", {}),
)
"""The methods that are compared if none is named, with their parameters."""
DEFAULTS_FOR_LINKED_ROWS: tuple[tuple[str, Mapping[str, Any]], ...] = (("Panel", {}),)
"""The definitions that judge all rows of a person together, for tables that publish which rows belong together."""
FRAMES = {"pyspark": "spark"}
"""The engine that reads the frames of a package in place."""
TABLE_FILES: dict[str, Home] = {
    "csv": Home("reticent.table.table_files", "text with commas", "CsvTable"),
    "parquet": Home("reticent.table.table_files", "compressed columns", "ParquetTable"),
    "xlsx": Home("reticent.io.sheets", "a sheet of Excel", "XlsxTable"),
    "sav": Home("reticent.io.statistics_files", "SPSS, with value labels", "SpssTable"),
    "dta": Home("reticent.io.statistics_files", "Stata, with value labels", "StataTable"),
    "xpt": Home("reticent.io.statistics_files", "SAS (transport file)", "SasTable"),
}
_KINDS: Mapping[str, dict[str, Home]] = {
    "definition": DEFINITIONS,
    "method": METHODS,
    "format": FORMATS,
    "recoding": RECODINGS,
    "shape": SHAPES,
    "engine": ENGINES,
    "table file": TABLE_FILES,
}
PUBLIC: dict[str, str] = {
    **{name: home.module for names in (DEFINITIONS, METHODS) for name, home in names.items()},
    "Context": "reticent.base.context",
    "Groups": "reticent.core",
    **dict.fromkeys(("Hierarchy", "Table"), "reticent.table"),
    **dict.fromkeys(("Bins", "CalendarUnit", "Digits", "Microaggregation", "Rounding"), "reticent.table.coarsening"),
    **dict.fromkeys(("Assessment", "Definition", "homogeneity_audit"), "reticent.definitions"),
    "search": "reticent.methods.lattice",
    **dict.fromkeys(("Release", "apply", "publish", "verify"), "reticent.release"),
    "assess": "reticent.release.assessment",
    **dict.fromkeys(("inspect", "read"), "reticent.policy"),
    **dict.fromkeys(("compare", "dossier", "preview", "report"), "reticent.reports"),
    "attack": "reticent.attacks",
    "gate": "reticent.gates.gate",
    **dict.fromkeys(
        (
            "Cancelled",
            "DataError",
            "Denied",
            "Infeasible",
            "LedgerError",
            "ParameterError",
            "PolicyError",
            "ReticentError",
        ),
        "reticent.errors",
    ),
    "register": "reticent.registry",
}
ROOMS: dict[str, str] = {
    **{
        name: f"reticent.{name}"
        for name in (
            "attacks",
            "audit",
            "baselines",
            "belief",
            "checks",
            "demo",
            "knowledge",
            "ledger",
            "noise",
            "reports",
            "views",
        )
    },
    **{name: f"reticent.methods.{name}" for name in ("grid", "randomize", "synthesize")},
    "republish": "reticent.methods.series",
}


def load(kind: Kind, name: str) -> Any:
    """The definition, method, format or engine of a name. Raises :class:`PolicyError` with a hint for an unknown name."""
    names = _KINDS[kind]
    if name not in names:
        raise PolicyError(
            f"There is no {kind} {name!r}.{did_you_mean(name, names)} The {kind}s are: {', '.join(names)}.",
            setting=("name",),
            value=name,
        )
    home = names[name]
    return getattr(import_module(home.module), home.attribute or name)


def register(kind: Kind, name: str, module: str, help: str = "", attribute: str | None = None) -> None:
    """Register a name of your own for policies, certificates and manifests.

    ``module`` is imported when the name is first used; it defines ``attribute`` (default: the name itself). Registering the same module twice
    does nothing. Raises :class:`PolicyError` for a name that is taken.

    Parameters:
        kind: ``"definition"``, ``"method"``, ``"format"``, ``"recoding"``, ``"shape"``, ``"engine"`` or ``"table file"``.
        name: the name that policies and certificates use.
        module: the module that defines it.
        help: what it is for, in a line.
        attribute: its name in the module, if different.

    Example:
        >>> import reticent as rt
        >>> rt.register("definition", "Evenness", "my_package.evenness", "every value equally frequent")  # doctest: +SKIP
    """
    names, home = _KINDS[kind], Home(module, help, attribute)
    if names.setdefault(name, home) != home:
        raise PolicyError(f"There is a {kind} {name!r} already, in {names[name].module}. Choose another name.")
