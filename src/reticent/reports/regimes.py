"""Requirements of regulators and review boards: for each regime its headings, its risk threshold, and the statements that only a steward can make.

Sources are paraphrased. A section number is given only if docs/reference/references.md records that it was checked against the source; otherwise only document and topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Evidence = Literal[
    "columns",
    "flow",
    "guarantee",
    "risk",
    "singling out",
    "linkability",
    "inference",
    "utility",
    "residual",
    "certificate",
]


@dataclass(frozen=True)
class StatementField:
    """A statement that the steward must make because no file contains it: its key in ``[dossier]`` of the policy, and the question."""

    name: str
    question: str


@dataclass(frozen=True)
class RegimeHeading:
    """A heading of a regime: its citation, the kinds of evidence under it, and the statements required from the steward."""

    title: str
    source: str
    lead: str
    evidence: tuple[Evidence, ...] = ()
    fields: tuple[StatementField, ...] = ()


@dataclass(frozen=True)
class Regime:
    """A regulatory regime: its sources, its maximum re-identification probability (None if it sets no number), and its headings.

    ``threshold_words`` explains the origin of the threshold; ``determination`` says who decides on compliance.
    """

    title: str
    sources: tuple[str, ...]
    threshold: Fraction | None
    threshold_words: str
    determination: str
    headings: tuple[RegimeHeading, ...]

    @property
    def fields(self) -> tuple[StatementField, ...]:
        """All statements that the steward must make."""
        return tuple(field for heading in self.headings for field in heading.fields)


_RECIPIENTS = StatementField("recipients", "Who receives the files, and under which agreement or licence?")
_KNOWN = StatementField(
    "other_information",
    "Which other information about these people can recipients reasonably obtain, and why are these the quasi-identifiers?",
)
_PURPOSE = StatementField("purpose", "What are the data for, and why is this detail needed?")
_REVIEW = StatementField("review", "When is the risk assessed again, and what would make it necessary earlier?")
_LIMIT = StatementField(
    "risk_limit", "Which largest probability of re-identification do you accept (a number such as 0.05), and why?"
)

REGIMES: Mapping[str, Regime] = {
    "hipaa-expert": Regime(
        "HIPAA expert determination",
        ("[HIPAA], 45 CFR 164.514(b)(1)",),
        None,
        "The rule asks for a very small risk and names no number; the expert states one (risk_limit).",
        "A person with appropriate knowledge and experience determines that the risk is very small, and documents it.",
        (
            RegimeHeading(
                "The expert",
                "45 CFR 164.514(b)(1)",
                "Who applies statistical and scientific principles and methods that are generally accepted, and with what knowledge and experience.",
                (),
                (
                    StatementField(
                        "expert", "Who is the expert, with which knowledge of and experience with such methods?"
                    ),
                    StatementField(
                        "independence", "Whom does the expert work for, and does anything influence the finding?"
                    ),
                ),
            ),
            RegimeHeading(
                "Anticipated recipients and what they may know",
                "45 CFR 164.514(b)(1)(i)",
                "The risk counts for an anticipated recipient who uses the data alone or with other information that is reasonably available.",
                ("columns",),
                (_RECIPIENTS, _KNOWN),
            ),
            RegimeHeading(
                "Risk of identification",
                "45 CFR 164.514(b)(1)(i)",
                "Measured risks, and the results of attacks that were run against the release.",
                ("risk", "singling out", "linkability", "inference"),
                (_LIMIT,),
            ),
            RegimeHeading(
                "Methods and results",
                "45 CFR 164.514(b)(1)(ii)",
                "The methods and the results of the analysis that justify the determination are documented.",
                ("guarantee", "flow", "utility", "certificate"),
            ),
            RegimeHeading(
                "Residual risk and conditions",
                "45 CFR 164.514(b)(1)",
                "What the guarantee does not remove, and what keeps the risk very small over time.",
                ("residual",),
                (_REVIEW,),
            ),
        ),
    ),
    "gdpr": Regime(
        "GDPR: anonymous information",
        ("[GDPR], recital 26", "[WP216], Article 29 Working Party, Opinion 05/2014 on anonymisation techniques"),
        None,
        "Neither the recital nor the Opinion names a number: all means that are reasonably likely to be used count.",
        "The controller decides whether people are no longer identifiable, and answers for it to the supervisory authority.",
        (
            RegimeHeading(
                "Processing and purpose",
                "recital 26; Opinion 05/2014, anonymization as processing",
                "Anonymization is itself processing of personal data. What was done with them, from the source to the release.",
                ("flow",),
                (
                    StatementField("controller", "Who is the controller, and who is the data protection officer?"),
                    StatementField(
                        "legal_basis", "On which legal basis are the personal data processed to make them anonymous?"
                    ),
                    _PURPOSE,
                ),
            ),
            RegimeHeading(
                "Means reasonably likely to be used",
                "recital 26",
                "Costs, time, and the technology that is available count, for the controller and for anyone else.",
                ("columns", "guarantee", "risk"),
                (_RECIPIENTS, _KNOWN),
            ),
            RegimeHeading(
                "Singling out",
                "Opinion 05/2014, the three risks",
                "Is it still possible to isolate records of one person?",
                ("singling out",),
            ),
            RegimeHeading(
                "Linkability",
                "Opinion 05/2014, the three risks",
                "Is it still possible to link records of one person, in the release or with another source?",
                ("linkability",),
            ),
            RegimeHeading(
                "Inference",
                "Opinion 05/2014, the three risks",
                "Can something about a person be deduced with significant probability?",
                ("inference",),
            ),
            RegimeHeading(
                "What remains useful",
                "Opinion 05/2014, usefulness of the data",
                "What the protection costs.",
                ("utility",),
            ),
            RegimeHeading(
                "Residual risk and review",
                "Opinion 05/2014, residual risk",
                "Anonymization is not a single event: the residual risk is assessed again at intervals.",
                ("residual", "certificate"),
                (_REVIEW,),
            ),
        ),
    ),
    "ema-prci": Regime(
        "Clinical data: anonymisation report",
        ("[EMA0070], external guidance on Policy 0070 (EMA/90915/2016), chapter 3",),
        Fraction(9, 100),
        "For public release of clinical data 0.09 is used as the threshold; read the guidance in force for its wording. A probability of 1/11 is 0.0909, which is above 0.09, so the smallest group that meets it exactly has 12 people; "
        "where 1/11 rounded to two digits is accepted, groups of 11 do.",
        "The applicant submits the anonymisation report; the agency reviews it.",
        (
            RegimeHeading(
                "Direct identifiers and quasi-identifiers",
                "chapter 3, anonymisation process",
                "Which columns name people, which may be known from elsewhere, and what became of them.",
                ("columns", "flow"),
            ),
            RegimeHeading(
                "Adversaries and plausible attacks",
                "chapter 3, anonymisation process",
                "Which adversaries are plausible for a public release, and what they achieve.",
                ("singling out", "linkability", "inference"),
                (_KNOWN,),
            ),
            RegimeHeading(
                "Data utility",
                "chapter 3, anonymisation process",
                "What the protection costs, and whether the data still serve their purpose.",
                ("utility",),
                (_PURPOSE,),
            ),
            RegimeHeading(
                "Threshold and measured risk",
                "chapter 3, anonymisation process",
                "The largest probability of re-identification, against the threshold.",
                ("risk",),
            ),
            RegimeHeading(
                "Anonymisation methodology",
                "chapter 3, anonymisation report",
                "The guarantee, how it was reached, and how anyone can check it again.",
                ("guarantee", "certificate"),
                (
                    StatementField(
                        "trial", "Which trial and which documents is this about, and how rare is the disease?"
                    ),
                    StatementField("rationale", "Why these techniques, and not others?"),
                ),
            ),
            RegimeHeading(
                "Residual risk",
                "chapter 3, anonymisation report",
                "What the methodology does not remove.",
                ("residual",),
                (_REVIEW,),
            ),
        ),
    ),
    "sp800-188": Regime(
        "De-identifying government datasets",
        ("[SP800-188], NIST Special Publication 800-188 (2023)",),
        None,
        "The publication names no number: agencies adopt a standard with measurable performance levels; the agency states its limit (risk_limit).",
        "The agency decides, for example through a Disclosure Review Board.",
        (
            RegimeHeading(
                "Goals and data-sharing model",
                "SP 800-188, goals and data-sharing model",
                "What the release is for, who gets it, and which controls surround it.",
                (),
                (
                    _PURPOSE,
                    StatementField(
                        "sharing_model", "Published, shared under an agreement, kept in an enclave, or queried?"
                    ),
                    _RECIPIENTS,
                ),
            ),
            RegimeHeading(
                "Data survey",
                "SP 800-188, identifiers and quasi-identifiers",
                "Which columns there are, which of them identify people together, and how they were transformed.",
                ("columns", "flow"),
                (_KNOWN,),
            ),
            RegimeHeading(
                "De-identification standard and measured performance",
                "SP 800-188, standard with measurable performance levels",
                "The standard that was set, and what was measured against it.",
                ("guarantee", "risk"),
                (_LIMIT,),
            ),
            RegimeHeading(
                "Re-identification study",
                "SP 800-188, re-identification studies",
                "Attempts to re-identify people: the results of the attacks that were run.",
                ("singling out", "linkability", "inference"),
            ),
            RegimeHeading(
                "Validation and utility",
                "SP 800-188, validation",
                "What the protection costs, and how anyone can check the claims again.",
                ("utility", "certificate"),
            ),
            RegimeHeading(
                "Disclosure review",
                "SP 800-188, Disclosure Review Board",
                "What remains, for the board that decides.",
                ("residual",),
                (
                    StatementField("board", "Which board reviewed this, when, and with which decision?"),
                    _REVIEW,
                ),
            ),
        ),
    ),
    "satre": Regime(
        "Output of a trusted research environment",
        (
            "[SATRE], Standard Architecture for Trusted Research Environments, statements 3.1.2, 3.1.4 and 3.3.1 to 3.3.8",
        ),
        None,
        "SATRE names no number: the environment's own disclosure rules do; state the limit (risk_limit).",
        "An output checker of the environment decides whether the output may leave.",
        (
            RegimeHeading(
                "The output and its classification",
                "3.3.1, 3.3.2, 3.3.8",
                "What leaves, how it is classified, and whether it is no more than is needed.",
                ("flow", "columns"),
                (
                    StatementField("project", "Which project, and was this output foreseen in it?"),
                    StatementField("classification", "How is the output classified, and who may receive it?"),
                ),
            ),
            RegimeHeading(
                "Statistical basis for the decision",
                "3.3.6",
                "What was measured, for the output checker.",
                ("guarantee", "risk"),
                (_LIMIT,),
            ),
            RegimeHeading(
                "Disclosure control",
                "3.3.3",
                "The results of attacks that were run against the output.",
                ("singling out", "linkability", "inference"),
            ),
            RegimeHeading(
                "Outputs that cannot be checked by hand",
                "3.3.5, 3.3.7",
                "Every claim was recomputed from the files by a program; the certificate has their fingerprints.",
                ("certificate", "utility"),
            ),
            RegimeHeading(
                "Responsibility and approval",
                "3.1.2, 3.1.4, 3.3.4",
                "Who checks, who approves the egress, and what remains.",
                ("residual",),
                (
                    StatementField("output_checker", "Who checked the output, and when?"),
                    StatementField("approval", "Who approved that it leaves?"),
                ),
            ),
        ),
    ),
}
"""The regimes by name."""
