"""A first look at a table that nobody has described yet.

``profile``      what each column looks like
``names``        what a column's name says, in several languages; ``patterns`` what its values give away
``hierarchies``  proposed hierarchies
``proposal``     proposed roles and a definition that the rows allow
``document``     the proposal as the text of a policy
"""

from reticent.inspect.document import policy_text
from reticent.inspect.profile import ColumnProfile, profile
from reticent.inspect.proposal import ColumnProposal, Proposal, missing_words, propose

__all__ = ["ColumnProfile", "ColumnProposal", "Proposal", "missing_words", "policy_text", "profile", "propose"]
