"""Policy files: one TOML file that states where the rows are, what is private, and how the release is made.

``policy``              the checked policy: its table, definition and method
``sections``            the allowed sections and settings
``file``                a parsed file with positions for errors; ``audit_policy`` the policy of audited SQL
``toml_positions``      the position of each setting; ``diagnostics`` describes errors with their position
``table_reader``        ``rt.read``: rows with their roles; ``inspection`` ``rt.inspect``: a proposed first policy
``policy_publication``  from a policy to a saved release; ``policy_preview`` to a preview
``dossier_statements``  the steward's statements for a dossier, in a separate file
``expressions``         definitions as written on a command line
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.policy.sections import Names as SettingNames

if TYPE_CHECKING:
    from reticent.policy.audit_policy import AuditPolicy
    from reticent.policy.dossier_statements import read_statements
    from reticent.policy.expressions import definition_from_text
    from reticent.policy.file import PolicyFile, checked
    from reticent.policy.inspection import Inspection, inspect
    from reticent.policy.policy import Policy
    from reticent.policy.policy_preview import compare_policy, preview_policy
    from reticent.policy.policy_publication import Published, check_free, publish_policy
    from reticent.policy.sections import Section, Sections
    from reticent.policy.table_reader import read

_HOMES = {
    "AuditPolicy": "audit_policy",
    "Inspection": "inspection",
    "Policy": "policy",
    "PolicyFile": "file",
    "Published": "policy_publication",
    "Section": "sections",
    "Sections": "sections",
    "check_free": "policy_publication",
    "checked": "file",
    "compare_policy": "policy_preview",
    "definition_from_text": "expressions",
    "inspect": "inspection",
    "preview_policy": "policy_preview",
    "publish_policy": "policy_publication",
    "read": "table_reader",
    "read_statements": "dossier_statements",
}

__all__ = [
    "AuditPolicy",
    "Inspection",
    "Policy",
    "PolicyFile",
    "Published",
    "Section",
    "Sections",
    "SettingNames",
    "check_free",
    "checked",
    "compare_policy",
    "definition_from_text",
    "inspect",
    "preview_policy",
    "publish_policy",
    "read",
    "read_statements",
]

__getattr__ = lazy_names(__name__, _HOMES)
