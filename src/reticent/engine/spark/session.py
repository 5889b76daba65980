"""The Spark session: the caller's, the active one, or a new one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from reticent.engine.spark.spark_jobs import told
from reticent.errors import MissingPackage, PolicyError

_OLDEST_JAVA = 17
_LOCAL = "local[*]"
_INSTALL = f"Install Java {_OLDEST_JAVA} or newer (on Debian and Ubuntu: apt install openjdk-{_OLDEST_JAVA}-jre-headless), or let JAVA_HOME name its folder."
# The session's time zone determines how timestamps are written, and the progress bar is ours.
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "OFF",
}


def session_from(given: Any) -> SparkSession:
    """A session: the given one; for settings (``master``, ``conf``) or None, the active one or else a new one for ``local[*]``."""
    if isinstance(given, SparkSession):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise PolicyError(
            f"spark must be a Spark session, or settings such as {{'master': 'local[*]'}}, but it is a {type(given).__name__}.",
            setting=("spark",),
        )
    settings = dict(given or {})
    unknown = sorted(set(settings) - {"master", "conf"})
    if unknown:
        raise PolicyError(
            f"spark has the settings master and conf, but {unknown[0]!r} was given.", setting=("spark", unknown[0])
        )
    active = SparkSession.getActiveSession()
    return active if active is not None else _started(settings.get("master") or _LOCAL, settings.get("conf") or {})


def _started(master: str, conf: Mapping[str, Any]) -> SparkSession:
    """Return a new Spark session for a master, with the settings of ``conf`` over the defaults."""
    check_java()
    if master.startswith("local"):
        # Otherwise the workers run whatever is called python3.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    builder = builder.master(master).appName("reticent")
    for name, value in {**_DEFAULTS, **{str(name): _text(value) for name, value in conf.items()}}.items():
        builder = builder.config(name, value)
    with told(f"start a session at {master!r}"):
        started: SparkSession = builder.getOrCreate()
    return started


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_java() -> None:
    """Raise if Java is missing or too old, naming what to install."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home!r}, where there is none" if home else "none was found"
        raise MissingPackage(f"Spark needs Java {_OLDEST_JAVA} or newer, and {where}. {_INSTALL}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', answer)
    if match is not None and int(match[1]) < _OLDEST_JAVA:
        raise MissingPackage(f"Spark needs Java {_OLDEST_JAVA} or newer, and {java} is Java {match[1]}. {_INSTALL}")
