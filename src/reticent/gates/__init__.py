"""The gate of a pipeline: a policy or a release against limits, for programs that let it pass or stop it.

``limits``        the TOML file of limits, with errors that point into it
``subject``       what is judged: a saved release, or what a policy would publish
``gate``          every limit checked, without a value of the data in any sentence
``result_files``  the same result as JUnit XML, SARIF and Markdown
"""

from reticent.gates.gate import GateCheck, GateResult, gate
from reticent.gates.limits import Limits
from reticent.gates.result_files import junit, markdown, sarif

__all__ = ["GateCheck", "GateResult", "Limits", "gate", "junit", "markdown", "sarif"]
