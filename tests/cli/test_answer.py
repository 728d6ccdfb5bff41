"""Tests of answers in files and notebooks."""

import json
from pathlib import Path

import pytest

from trainer.app.open_packs import KnownPacks
from trainer.cli.answer import read_answer
from trainer.model.errors import DrillError


def test_answer_is_read_from_the_cells_of_a_notebook(tmp_path: Path) -> None:
    """Cells that it does not need are left out. A notebook without the answer is refused."""
    sdpa = KnownPacks().find("sdpa")
    path = tmp_path / "sdpa.ipynb"
    cells = ["import torch", f"def {sdpa.entry[0]}(q, k, v, mask=None):\n    return q", "print(1)"]
    notebook = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    path.write_text(json.dumps(notebook))
    source = read_answer(sdpa, path)
    assert f"def {sdpa.entry[0]}" in source
    assert "print" not in source
    path.write_text(json.dumps({"cells": []}))
    with pytest.raises(DrillError, match=r"sdpa\.ipynb"):
        read_answer(sdpa, path)
