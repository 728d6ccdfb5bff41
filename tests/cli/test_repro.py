"""The command `repro`."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.cli import drill
from trainer.packs import pack_reader


def test_script_runs_and_prints_the_learners_outputs(tiled: Path) -> None:
    """A file that `repro` did not write is never overwritten."""
    report = json.loads(
        drill("check", "gqa", "gqa.py", "--seed", "3", "--json", cwd=tiled, code=1).stdout
    )
    failed = next(check for check in report["checks"] if check["status"] == "failed")
    shown = drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=tiled).stdout
    assert f"Case {failed['case_number']} with seed 3" in shown
    environment = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)}
    done = subprocess.run(
        [sys.executable, "gqa_repro.py"],
        cwd=tiled,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"out {tuple(failed['mismatch']['actual_shape'])}")
    assert "expected" not in (tiled / "gqa_repro.py").read_text()
    (tiled / "gqa_repro.py").write_text("mine = 1\n")
    refused = drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=tiled, code=2)
    assert "Move it away first" in refused.stderr
    assert (tiled / "gqa_repro.py").read_text() == "mine = 1\n"


def test_script_uses_the_learners_argument_names(tmp_path: Path) -> None:
    """The contract's names are bound to the learner's names."""
    source = pack_reader.solution(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"))
    source = source.replace("x, mask=None", "inputs, attn_mask=None")
    head = "x, mask = inputs, attn_mask\n        batch, length, d_model = x.shape"
    source = source.replace("batch, length, d_model = x.shape", head)
    source = source.replace("num_kv_heads, dropout=0.0", "num_kv_heads, p=0.0")
    (tmp_path / "gqa.py").write_text(source.replace("nn.Dropout(dropout)", "nn.Dropout(p)"))
    drill("repro", "gqa", "gqa.py", "--seed", "3", "--case", "10", cwd=tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)}
    script = [sys.executable, "gqa_repro.py"]
    done = subprocess.run(
        script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("out (")


def test_repro_of_a_pass_writes_nothing(solved: Path) -> None:
    """A case that is named with --case is written."""
    assert (
        "nothing fails there"
        in drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=solved, code=2).stderr
    )
    assert not (solved / "gqa_repro.py").exists()
    drill("repro", "gqa", "gqa.py", "--seed", "3", "--case", "2", cwd=solved)
    assert (solved / "gqa_repro.safetensors").exists()
