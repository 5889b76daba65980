"""Pipeline gates: check a policy or a release against limits, for CI.

``limits``        the TOML file of limits, with errors that point into it
``gated_release``  the target: a saved release, or what a policy would publish
``gate``          checks every limit; no message contains a data value
``microdata``     files that should not be in a repository
``redaction``     messages without data values
``result_files``  the same result as JUnit XML, SARIF and Markdown
"""

from reticent.gates.gate import GateCheck, GateResult, gate
from reticent.gates.limits import Limits, LimitSections
from reticent.gates.microdata import RepositoryFinding, scan
from reticent.gates.redaction import without_message, without_values
from reticent.gates.result_files import junit, markdown, sarif

__all__ = [
    "GateCheck",
    "GateResult",
    "LimitSections",
    "Limits",
    "RepositoryFinding",
    "gate",
    "junit",
    "markdown",
    "sarif",
    "scan",
    "without_message",
    "without_values",
]
