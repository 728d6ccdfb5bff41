"""Helpers of the tests of autograder."""

import json
import subprocess
from pathlib import Path


def small_checkout(folder: Path) -> Path:
    """What of a checkout the autograder needs, in little, and some of what it must not take."""
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
    """Run it as the platform does: a copy in the root, the root as the working folder."""
    script = root / "run_autograder"
    script.write_text((root / "source" / "run_autograder").read_text())
    script.chmod(0o755)
    done = subprocess.run(
        [str(script)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return json.loads((root / "results" / "results.json").read_text(encoding="utf-8")), done
