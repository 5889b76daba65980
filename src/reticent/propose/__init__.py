"""A first look at a table: what its columns are, and how exposed the people in it are as it stands.

``profile``          what each column looks like
``names``            what a column's name says, in several languages; ``identifier_patterns`` and ``detectors`` what its values give away
``proposed_types``   what columns are where the file does not say it; ``known_domains`` values that everybody knows beforehand
``coarsenings``      coarser numbers and dates beside the quasi columns
``templates``        proposals for a purpose
``relations``        columns that follow from each other
``hierarchies``      proposed hierarchies; ``orders`` categories that tell their order
``proposal``         proposed roles and a definition that the rows allow
``tradeoff``         columns, guarantees and method that the table can afford; ``column_selection`` the columns, ``affordable_guarantees`` the guarantees, ``prices`` what they cost
``guarantees``       what can be promised about one sensitive column; ``study_columns`` treatments and outcomes, which are left out last
``document``         the proposal as the text of a policy; ``policy_draft`` the way from a source to it
``exposure``         what the rows would give away if they went out unchanged
``diversity_audit``  how diverse the sensitive values are, group by group
``risk_drivers``     which columns, values and sets of columns drive that
``safe_harbor``      the identifiers that the HIPAA rule names
``worth``            whether a release is worth publishing, and what would cost less
"""

from reticent.propose.affordable_guarantees import PromiseCost
from reticent.propose.column_selection import LeftOut
from reticent.propose.diversity_audit import DiversityAudit, diversity_audits
from reticent.propose.document import document_text, policy_text
from reticent.propose.exposure import ExposedGroup, Exposure, exposures
from reticent.propose.policy_draft import propose_policy
from reticent.propose.profile import ColumnProfile, profile
from reticent.propose.proposal import ColumnProposal, Proposal, missing_words, propose
from reticent.propose.risk_drivers import ColumnRisk, ColumnSet, Risk, ValueRisk, risk_views
from reticent.propose.safe_harbor import HIPAA, safe_harbor
from reticent.propose.templates import TEMPLATES
from reticent.propose.tradeoff import Tradeoff, afford
from reticent.propose.worth import POOR, LowUtility, poor_worth

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
