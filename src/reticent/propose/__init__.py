"""Profile a table: what its columns are, how exposed the people in it are, and a proposed policy.

``profile``          what each column looks like
``names``            the meaning of a column's name, in several languages; ``identifier_patterns`` and ``detectors`` identifiers among its values
``proposed_types``   types of columns that the file does not declare; ``known_domains`` publicly known domains of values
``coarsenings``      coarser sensitive numbers and dates
``templates``        proposals for a purpose
``relations``        columns that follow from each other
``hierarchies``      proposed hierarchies; ``orders`` categories with an evident order
``proposal``         proposed roles and a feasible definition
``tradeoff``         columns, guarantees and method at an acceptable information loss; ``column_selection`` the columns, ``affordable_guarantees`` the guarantees, ``prices`` what they cost
``guarantees``       feasible guarantees for one sensitive column; ``study_columns`` treatments and outcomes, which are dropped last
``document``         the proposal as policy text; ``policy_draft`` from a source to that text
``exposure``         disclosure risk of the unmodified rows
``diversity_audit``  how diverse the sensitive values are, group by group
``risk_drivers``     which columns, values and sets of columns drive that risk
``safe_harbor``      the identifiers that the HIPAA rule names
``worth``            whether a release has enough utility, and cheaper alternatives
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.propose.profile import ColumnProfile, profile
from reticent.propose.safe_harbor import HIPAA, safe_harbor

if TYPE_CHECKING:
    from reticent.propose.affordable_guarantees import PromiseCost
    from reticent.propose.column_selection import LeftOut
    from reticent.propose.diversity_audit import DiversityAudit, diversity_audits
    from reticent.propose.document import document_text, policy_text
    from reticent.propose.exposure import ExposedGroup, Exposure, exposures
    from reticent.propose.policy_draft import propose_policy
    from reticent.propose.proposal import ColumnProposal, Proposal, missing_words, propose
    from reticent.propose.risk_drivers import ColumnRisk, ColumnSet, Risk, ValueRisk, risk_views
    from reticent.propose.templates import TEMPLATES
    from reticent.propose.tradeoff import Tradeoff, afford
    from reticent.propose.worth import POOR, LowUtility, poor_worth

_HOMES = {
    "ColumnProposal": "proposal",
    "ColumnRisk": "risk_drivers",
    "ColumnSet": "risk_drivers",
    "DiversityAudit": "diversity_audit",
    "ExposedGroup": "exposure",
    "Exposure": "exposure",
    "LeftOut": "column_selection",
    "LowUtility": "worth",
    "POOR": "worth",
    "PromiseCost": "affordable_guarantees",
    "Proposal": "proposal",
    "Risk": "risk_drivers",
    "TEMPLATES": "templates",
    "Tradeoff": "tradeoff",
    "ValueRisk": "risk_drivers",
    "afford": "tradeoff",
    "diversity_audits": "diversity_audit",
    "document_text": "document",
    "exposures": "exposure",
    "missing_words": "proposal",
    "policy_text": "document",
    "poor_worth": "worth",
    "propose": "proposal",
    "propose_policy": "policy_draft",
    "risk_views": "risk_drivers",
}

__all__ = [
    "HIPAA",
    "POOR",
    "TEMPLATES",
    "ColumnProfile",
    "ColumnProposal",
    "ColumnRisk",
    "ColumnSet",
    "DiversityAudit",
    "ExposedGroup",
    "Exposure",
    "LeftOut",
    "LowUtility",
    "PromiseCost",
    "Proposal",
    "Risk",
    "Tradeoff",
    "ValueRisk",
    "afford",
    "diversity_audits",
    "document_text",
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

__getattr__ = lazy_names(__name__, _HOMES)
