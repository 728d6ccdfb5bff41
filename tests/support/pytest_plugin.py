"""Helpers for the tests of `pytest --drill`: a project, and a fake grading server."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support.paths import ROOT, TINY_PACK

TINY = TINY_PACK
PLUGIN = ("-p", "trainer.pytest_plugin.plugin")
SHOWN = r"it is \x1b[31m3 and must be 4"  # the visible form of the fake server's message

# A conftest.py that replaces the grading server by a fake. The first line of a file names its
# report. The fake writes all requests to requests.txt.
CONFTEST = """
import os
import trainer.server.pool as pool
from trainer.model.report import Frame, Outcome, Report
from trainer.model.case import Case
from trainer.server.messages import GradeReference, Refused, Verdict
from trainer.server.process import ServerLostError

CASES = tuple(Case(name, {}, {}, {"B": 2}) for name in ("first", "second [B, 1]"))
MESSAGE = "it is \\x1b[31m3 and must be 4 …"


def on_cases(check, status):
    message = MESSAGE if status == "failed" else ""
    return [Outcome(check, status, message, case.name, n) for n, case in enumerate(CASES, 1)]


def sizes(second):
    both = (("passed", "one is odd"), (second, "two is odd"))
    return [Outcome("bad sizes", status, message) for status, message in both]


def outcomes(kind):
    start = [Outcome("loads", "passed"), *on_cases("runs", "passed")]
    if kind == "values":
        skipped = Outcome("properties", "skipped", "needs values")
        return [*start, *on_cases("values", "failed"), skipped, *sizes("failed")]
    if kind == "loads":
        message = "SyntaxError: `--time-limit` at line 7"
        failed = Outcome("loads", "failed", message, frames=(Frame(7, "", "x ="),))
        later = ("runs", "values", "properties", "bad sizes")
        return [failed, *(Outcome(check, "skipped", "needs loads") for check in later)]
    end = [*on_cases("properties", "passed"), *sizes("passed")]
    return [*start, *on_cases("values", "passed"), *end]


def record(event):
    with open("requests.txt", "a") as file:
        file.write(f"{event}\\n")


class Server:
    def __init__(self, packs):
        record("started")

    def ask(self, request):
        name, kind = "it.py", os.environ.get("REFERENCE", "right")
        if not isinstance(request, GradeReference):
            name, kind = request.submission.name, request.submission.source.split()[1]
            assert (request.seconds, request.memory_mib) == (10.0, int(os.environ.get("MIB", 2048)))
        record(f"{type(request).__name__} {kind}")
        if kind == "lost":
            raise ServerLostError("out of luck")
        if kind == "refused":
            return Refused(request.id, "This machine will not.")
        found = tuple(outcomes(kind))
        verdict = "failed" if any(outcome.status == "failed" for outcome in found) else "passed"
        report = Report(request.challenge, name, request.seed, verdict, found, CASES)
        return Verdict(request.id, report)

    def close(self):
        record("closed")


pool.ServerProcess = Server
"""


@dataclass(frozen=True)
class Ran:
    """A finished run of pytest.

    Attributes:
        code: the exit code.
        out: the text on the terminal.
        results: the result of each test, by its name in JUnit's file.
        texts: the text of each test, by its name in JUnit's file.
    """

    code: int
    out: str
    results: dict[str, str]
    texts: dict[str, str]

    def count(self) -> dict[str, int]:
        """Return how many tests have each result."""
        return dict(Counter(self.results.values()))


def environment(**more: str) -> dict[str, str]:
    """Return the environment of this process without the variables of pytest and its workers."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "ATTN_DRILL_", "COV_"))
    }
    defaults = {"PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    return {**inherited, **defaults, **more}


def run(folder: Path, *args: str, plugin: Sequence[str] = PLUGIN, **more: str) -> Ran:
    """Run pytest in a folder.

    Args:
        folder: the project.
        args: options of the command line.
        plugin: the options that load the plugin.
        more: additional variables of the environment.
    """
    (folder / "junit.xml").unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *plugin, f"--drill-pack={TINY}"]
    process = subprocess.run(
        [*command, "--junitxml=junit.xml", *args],
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    results, texts = {}, {}
    if (folder / "junit.xml").exists():
        for case in ET.parse(folder / "junit.xml").iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            assert name not in results, f"two tests are called {name}"
            outcomes = [child for child in case if child.tag in ("failure", "error", "skipped")]
            results[name] = outcomes[0].tag if outcomes else "passed"
            texts[name] = f"{outcomes[0].get('message')}\n{outcomes[0].text}" if outcomes else ""
    return Ran(process.returncode, process.stdout, results, texts)


def project(place: Path, conftest: str = "") -> Path:
    """Write a project with an ordinary test, and with answers that cannot be imported."""
    place.mkdir()
    (place / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (place / "conftest.py").write_text(conftest)
    (place / "test_own.py").write_text("def test_own():\n    pass\n")
    for kind in ("right", "values", "loads", "lost", "refused"):
        (place / f"{kind}.py").write_text(f"# {kind}\nraise SystemExit\n")
    return place


def requests(folder: Path) -> list[str]:
    """Return the requests to the fake server, with its start and its end."""
    return (folder / "requests.txt").read_text().splitlines()


def config_of(place: Path, **options: Any) -> Any:
    """Return a configuration of pytest with the parts that the plugin reads."""
    defaults = {
        "attn_drill": ["prefix-sum=right.py"],
        "attn_drill_seed": None,
        "attn_drill_packs": [str(TINY)],
        "attn_drill_seconds": 10.0,
        "attn_drill_mib": 2048,
    }
    params = SimpleNamespace(dir=place)
    return SimpleNamespace(getoption=(defaults | options).get, invocation_params=params)
