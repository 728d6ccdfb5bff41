"""The request for a session and its result."""

import subprocess
import sys
from pathlib import Path

from attn_drill.session.model import SessionRequest
from tests.support.paths import ROOT
from tests.support.session import GQA, PACK


def test_commands_can_import_the_model_quickly() -> None:
    """The model imports no Textual and no torch."""
    code = (
        "import sys\n"
        "import attn_drill.session.model\n"
        "print(sorted({'textual', 'torch', 'rich'} & set(sys.modules)))\n"
    )
    command = [sys.executable, "-c", code]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


def test_request_is_practice_with_the_built_in_pack_by_default() -> None:
    """The report shows the whole diagnosis, and there is no interview."""
    request = SessionRequest(GQA, Path("gqa.py"), "", 0.0, 1200.0)
    assert (request.purpose, request.stage, request.sitting) == ("practice", "cause", None)
    assert request.packs == (PACK,)
    assert request.is_graded
