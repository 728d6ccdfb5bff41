"""The commands as a user types them: what they print, where, and the exit code."""

import json
import re
from pathlib import Path

from tests.support.cli import TILED, drill


def test_trace_shows_every_line_beside_the_reference(tiled: Path) -> None:
    """What a line makes, and which of the reference's results that is; not the reference's code."""
    shown = drill("trace", "gqa", "gqa.py", "--seed", "3", "--case", "1", cwd=tiled).stdout
    assert re.search(r"q = self\.q_proj.*\n.*\[B=2, L=5, H=6, D=7\] float32 .*= q", shown)
    assert re.search(r"v = v\.repeat_interleave.*\n.*= v", shown)
    assert not re.search(r"k = k\.repeat\(1.*\n.*= k", shown)
    assert "k.repeat_interleave" not in shown


def test_trace_without_a_case_takes_the_failing_one(tiled: Path) -> None:
    """By default the seed of the last attempt and the case that its report explains."""
    number = json.loads(drill("check", "gqa", "gqa.py", "--json", cwd=tiled, code=1).stdout)
    first = next(one["case_number"] for one in number["checks"] if one["status"] == "failed")
    assert drill("trace", "gqa", "gqa.py", cwd=tiled).stdout.startswith(f"case {first}:")
    assert f"seed {number['seed']}" in " ".join(
        drill("trace", "gqa", "gqa.py", cwd=tiled).stdout.split()
    )


def test_trace_of_what_raises_says_so(tmp_path: Path) -> None:
    """The lines up to the exception, then the exception."""
    (tmp_path / "gqa.py").write_text(
        TILED.replace("weights = self.dropout(weights)", "weights = weights @ weights[0, 0, 0]")
    )
    shown = drill("trace", "gqa", "gqa.py", "--seed", "3", "--case", "1", cwd=tmp_path).stdout
    assert "RuntimeError" in shown.splitlines()[-2] + shown.splitlines()[-1] + shown
    assert "torch.softmax" in shown
