"""Helpers for the tests of `pytest --drill`: a project, and runs of pytest in it."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT, TINY_PACK

PLUGIN = ("-p", "attn_drill.pytest_plugin.plugin")
FORGETFUL = """import torch


def prefix_sum(x, reverse=False):
    print('here')
    return torch.cumsum(x, dim=-1)
"""


@dataclass(frozen=True)
class Ran:
    """A finished run of pytest. Results and texts are by the tests' names in JUnit's file."""

    code: int
    out: str
    results: dict[str, str]
    texts: dict[str, str]

    def failed(self) -> list[str]:
        """Return the names of the tests that failed, in order."""
        return [name for name, result in self.results.items() if result == "failure"]


def project(place: Path) -> Path:
    """Write a project with an ordinary test and with three answers.

    One is right, one is wrong in one direction, and one does not parse.
    """
    place.mkdir()
    (place / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (place / "test_own.py").write_text("def test_own():\n    pass\n")
    (place / "good.py").write_text((TINY_PACK / "solutions/prefix_sum/solution.py").read_text())
    (place / "forgetful.py").write_text(FORGETFUL)
    (place / "broken.py").write_text("def prefix_sum(x, reverse=False)\n    return x\n")
    return place


def run(folder: Path, *args: str, plugin: tuple[str, ...] = PLUGIN, **more: str) -> Ran:
    """Run pytest in the folder of a project. `more` has variables of the environment."""
    (folder / "junit.xml").unlink(missing_ok=True)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "ATTN_DRILL_", "CI"))
    }
    pack = {"ATTN_DRILL_PACK": str(TINY_PACK), "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "--junitxml=junit.xml", *args],
        cwd=folder,
        env={**inherited, **pack, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **more},
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
