"""Helpers for the tests of the Gradescope autograder."""

import json
import subprocess
from pathlib import Path


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
