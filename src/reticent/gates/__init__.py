"""The gate of a pipeline: a policy or a release against limits, for programs that let it pass or stop it.

``limits``        the TOML file of limits, with errors that point into it
``gated_release``  what is judged: a saved release, or what a policy would publish
``gate``          every limit checked, without a value of the data in any sentence
``microdata``     files that do not belong in a repository
``redaction``     what may be said where no value may appear
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
