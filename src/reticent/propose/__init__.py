"""A first look at a table: what its columns are, and how exposed the people in it are as it stands.

``profile``      what each column looks like
``names``        what a column's name says, in several languages; ``patterns`` and ``detectors`` what its values give away
``types``        what columns are where the file does not say it; ``domains`` values that everybody knows beforehand
``coarsenings``  coarser numbers and dates beside the quasi columns
``templates``    proposals for a purpose
``relations``    columns that follow from each other
``hierarchies``  proposed hierarchies; ``orders`` categories that tell their order
``proposal``     proposed roles and a definition that the rows allow
``affording``    columns and method that the table can afford, by what they cost; ``promises`` the definition
``document``     the proposal as the text of a policy; ``drafting`` the way from a source to it
``exposure``     what the rows would give away if they went out unchanged
``audit``        how diverse the sensitive values are, group by group
``risk``         which columns, values and sets of columns drive that
``safe_harbor``  the identifiers that the HIPAA rule names
``worth``        whether a release is worth publishing, and what would cost less
"""

from reticent.propose.affording import Affordable, afford
from reticent.propose.audit import DiversityAudit, diversity_audits
from reticent.propose.document import policy_text
from reticent.propose.drafting import propose_policy
from reticent.propose.exposure import ExposedGroup, Exposure, exposures
from reticent.propose.profile import ColumnProfile, profile
from reticent.propose.promises import Price
from reticent.propose.proposal import ColumnProposal, Proposal, missing_words, propose
from reticent.propose.risk import ColumnRisk, ColumnSet, Risk, ValueRisk, risk_views
from reticent.propose.safe_harbor import HIPAA, safe_harbor
from reticent.propose.templates import TEMPLATES
from reticent.propose.worth import POOR, PoorWorth, poor_worth

__all__ = [
    "HIPAA",
    "POOR",
    "TEMPLATES",
    "Affordable",
    "ColumnProfile",
    "ColumnProposal",
    "ColumnRisk",
    "ColumnSet",
    "DiversityAudit",
    "ExposedGroup",
    "Exposure",
    "PoorWorth",
    "Price",
    "Proposal",
    "Risk",
    "ValueRisk",
    "afford",
    "diversity_audits",
    "exposures",
    "missing_words",
    "policy_text",
    "poor_worth",
    "profile",
    "propose",
    "propose_policy",
    "risk_views",
    "safe_harbor",
]
