"""Add the option `pytest --drill gqa=gqa.py`.

The option runs the hidden checks on that file, with a test for each check. If attn-drill is
installed, every run of pytest imports this module. So the module imports only pytest, and does
nothing without the option.
"""

from __future__ import annotations

import pytest

_NAMES = ("attn_drill", __name__)  # the names of the entry point and for `-p`


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Define the options."""
    for name in _NAMES:
        if not pluginmanager.has_plugin(name):
            # pytest refuses to register a module under two names.
            pluginmanager.set_blocked(name)
    group = parser.getgroup("attn-drill", "attn-drill: hidden checks on attention implementations")
    group.addoption(
        "--drill",
        dest="attn_drill",
        metavar="ID=FILE",
        help="Run the hidden checks of a challenge on this file, e.g. gqa=gqa.py. Can be given "
        "several times. Other tests also run if paths or `testpaths` name some.",
        action="append",
        default=[],
    )
    group.addoption(
        "--drill-seed",
        dest="attn_drill_seed",
        type=int,
        metavar="N",
        help="Grade on the cases of this seed; a fresh seed by default.",
    )
    group.addoption(
        "--drill-pack",
        dest="attn_drill_packs",
        metavar="DIR",
        help="Look for challenges in this pack first.",
        action="append",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take part in the run if there is a file to grade.

    Raises:
        pytest.UsageError: an option is wrong.
    """
    if config.getoption("attn_drill"):
        # Imported only here, because every run of pytest imports this module.
        from attn_drill.pytest_plugin._drill_run import DrillRun  # noqa: PLC0415

        config.pluginmanager.register(DrillRun(config), "attn-drill-run")
