"""`pytest --drill gqa=gqa.py`: the hidden checks of a challenge on that file, a test for every check and case.

Each run of pytest imports this file wherever attn-drill is installed. So it imports nothing but pytest, and does nothing without the option.
"""

from __future__ import annotations

import pytest

_NAMES = ("attn_drill", __name__)  # of the entry point, and for `-p`


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Define the options."""
    for name in _NAMES:
        if not pluginmanager.has_plugin(name):
            pluginmanager.set_blocked(
                name
            )  # pytest refuses to register one module under both names
    group = parser.getgroup("attn-drill", "attn-drill: hidden checks on attention implementations")
    group.addoption(
        "--drill",
        action="append",
        default=[],
        dest="attn_drill",
        metavar="ID=FILE",
        help="Run the hidden checks of a challenge on this file, e.g. gqa=gqa.py. May be given several times. "
        "Other tests run as well where paths or `testpaths` name some.",
    )
    group.addoption(
        "--drill-seed",
        type=int,
        default=None,
        dest="attn_drill_seed",
        metavar="N",
        help="Grade on the cases of this seed; fresh ones by default.",
    )
    group.addoption(
        "--drill-pack",
        action="append",
        default=[],
        dest="attn_drill_packs",
        metavar="DIR",
        help="Look for challenges in this pack first.",
    )
    group.addoption(
        "--drill-time-limit",
        type=float,
        default=10.0,
        dest="attn_drill_seconds",
        metavar="S",
        help="CPU seconds for all cases; 10.",
    )
    group.addoption(
        "--drill-memory-limit",
        type=int,
        default=2048,
        dest="attn_drill_mib",
        metavar="MIB",
        help="Memory beyond torch's own; 2048.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take part in the run, if there is anything to grade.

    Raises:
        pytest.UsageError: where it cannot be graded.
    """
    if config.getoption("attn_drill"):
        from trainer.pytest_drill.run import take_part  # noqa: PLC0415 - see above

        take_part(config)
