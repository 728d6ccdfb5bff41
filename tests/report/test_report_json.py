"""A report as JSON."""

import json
from dataclasses import replace

from attn_drill.model.report import Report, error_to_json, to_json, to_object


def test_json_has_the_keys_of_the_contract(failed: Report) -> None:
    """The text is ASCII."""
    assert list(to_object(replace(failed, stdout="é"))) == [
        "schema",
        "challenge",
        "file",
        "seed",
        "verdict",
        "checks",
        "diagnosis",
        "stdout",
        "elapsed_seconds",
    ]
    assert json.loads(to_json(replace(failed, stdout="é\x9b")))["stdout"] == "é\x9b"
    to_json(replace(failed, stdout="é\x9b")).encode("ascii")
    assert json.loads(error_to_json("why")) == {
        "schema": "attn-drill.report/1",
        "verdict": None,
        "error": "why",
    }
