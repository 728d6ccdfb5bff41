"""The request for a session and its result."""

import subprocess
import sys

from tests.support.paths import ROOT


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
