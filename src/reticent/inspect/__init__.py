"""A first look at a table: what its columns are, and how exposed the people in it are as it stands.

``profile``      what each column looks like
``names``        what a column's name says, in several languages; ``patterns`` what its values give away
``hierarchies``  proposed hierarchies
``proposal``     proposed roles and a definition that the rows allow
``document``     the proposal as the text of a policy; ``drafting`` the way from a source to it
``exposure``     what the rows would give away if they went out unchanged
"""

from reticent.inspect.document import policy_text
from reticent.inspect.drafting import propose_policy
from reticent.inspect.exposure import ExposedGroup, Exposure, exposures
from reticent.inspect.profile import ColumnProfile, profile
from reticent.inspect.proposal import ColumnProposal, Proposal, missing_words, propose

__all__ = [
    "ColumnProfile",
    "ColumnProposal",
    "ExposedGroup",
    "Exposure",
    "Proposal",
    "exposures",
    "missing_words",
    "policy_text",
    "profile",
    "propose",
    "propose_policy",
]
