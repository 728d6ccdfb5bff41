"""Helpers for the tests of the Gradescope autograder."""

import json
import subprocess
from pathlib import Path


def small_checkout(folder: Path) -> Path:
    """Write a small checkout, with files that the autograder needs and files that it leaves out."""
    for name, text in {
        "pyproject.toml": '[project]\nname = "attn-drill"\n',
        "README.md": "read me",
        "LICENSE": "do what you like",
        "constraints.txt": "torch==2.13.0\n",
        "CHANGELOG.md": "changes",
        "trainer/__init__.py": "",
        "trainer/session/session.tcss": "x",
        "trainer/__pycache__/a.pyc": "",
        "trainer/.cache/a": "",
        "challenges/one/stub.py": "stub",
        "solutions/one/solution.py": "solution",
        "tests/test_x.py": "",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def run(
    root: Path, environment: dict[str, str]
) -> tuple[dict[str, object], subprocess.CompletedProcess[str]]:
    """Run a copy of the script in the root folder, as Gradescope does.

    Returns:
        The student's results, and the finished process.
    """
    script = root / "run_autograder"
    script.write_text((root / "source" / "run_autograder").read_text())
    script.chmod(0o755)
    process = subprocess.run(
        [str(script)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    results = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    return results, process
