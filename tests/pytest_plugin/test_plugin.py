"""Tests of the plugin in runs of pytest without `--drill`."""

import os
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.pytest_plugin import PLUGIN, project, run

WRITE_MODULES = """
def pytest_unconfigure(config):
    import pathlib, sys
    names = [*sys.modules, *(name for name, _ in config.pluginmanager.list_name_plugin())]
    pathlib.Path("modules.txt").write_text("\\n".join(names))
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param((), id="installed"),
        pytest.param(PLUGIN, id="installed and named by its module"),
        pytest.param(("-p", "attn_drill"), id="installed and named by its entry point"),
    ],
)
def test_plugin_does_nothing_without_the_option(tmp_path: Path, plugin: tuple[str, ...]) -> None:
    """The plugin does not take part in the run, and imports no other module of attn-drill."""
    info = tmp_path / "site" / "attn_drill_named-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: attn-drill-named\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pytest11]\nattn_drill = attn_drill.pytest_plugin.plugin\n"
    )
    place = project(tmp_path / "project")
    (place / "conftest.py").write_text(WRITE_MODULES)
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT)])
    ran = run(place, plugin=plugin, PYTHONPATH=path)
    assert (ran.code, ran.results) == (0, {"test_own::test_own": "passed"}), ran.out
    modules = set((place / "modules.txt").read_text().split("\n"))
    ours = {name for name in modules if name.startswith("attn_drill.")}
    assert ours == {"attn_drill.pytest_plugin", "attn_drill.pytest_plugin.plugin"}
    assert not modules & {"torch", "numpy", "rich", "msgspec", "attn-drill-run"}
