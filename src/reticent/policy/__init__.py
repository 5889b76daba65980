"""One TOML file that says it all: where the rows are, what is private, how the release is made.

``policy``       the checked policy: its table, definition and method
``sections``     what may be written in the file
``file``         a file that errors can point into; ``auditing`` the policy of audited SQL
``places``       where in the file it was written; ``complaints`` puts mistakes into words and points at them
``reading``      ``rt.read``: rows with their roles; ``inspecting`` ``rt.inspect``: a proposal to begin with
``publishing``   from a policy to a saved release; ``previewing`` to what it would be
``expressions``  definitions as written on a command line
"""

from reticent.policy.expressions import definition_from_text
from reticent.policy.inspecting import Inspection, inspect
from reticent.policy.policy import Policy
from reticent.policy.previewing import compare_policy, preview_policy
from reticent.policy.publishing import Published, publish_policy
from reticent.policy.reading import read

__all__ = [
    "Inspection",
    "Policy",
    "Published",
    "compare_policy",
    "definition_from_text",
    "inspect",
    "preview_policy",
    "publish_policy",
    "read",
]
