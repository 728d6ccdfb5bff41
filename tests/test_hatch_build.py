"""Copies of a pack in the environment: the build ships none twice, no worker reads any, `grade` looks for them."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.copies import BUILT_IN
from tests.support.paths import TESTS
from tests.support.sandbox import needs_kernel
from trainer.sandbox import readable_files

WALKS = TESTS / "hostile" / "submissions" / "walks_the_installation.py"


needs_pip = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="this environment has no pip"
)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What is built of the checkout: for an editable install, as a wheel, and as a wheel of the source archive."""
    folder = tmp_path_factory.mktemp("built")
    code = (
        "import sys; from hatchling.build import build_editable, build_sdist, build_wheel; "
        "print({'editable': build_editable, 'wheel': build_wheel, 'sdist': build_sdist}[sys.argv[1]](sys.argv[2]))"
    )

    def built(kind: str, root: Path, place: Path) -> Path:
        place.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code, kind, str(place)],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        return place / done.stdout.split()[-1]

    made = {kind: built(kind, BUILT_IN, folder / kind) for kind in ("editable", "wheel", "sdist")}
    with tarfile.open(made.pop("sdist")) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.glob("attn_drill-*/")
    made["wheel of the source archive"] = built("wheel", source, folder / "again")
    return made


def test_the_pack_is_in_wheels_alone(wheels: dict[str, Path]) -> None:
    """An editable install finds it in the checkout; a second copy would lie where submissions read."""
    held = {
        kind: [
            name for name in zipfile.ZipFile(path).namelist() if name.startswith("trainer/_pack/")
        ]
        for kind, path in wheels.items()
    }
    assert held.pop("editable") == []
    ours = {
        f"trainer/_pack/{path.relative_to(BUILT_IN).as_posix()}"
        for part in ("challenges", "solutions")
        for path in (BUILT_IN / part).rglob("*.*")
        if path.is_file()
    }
    ours = {name for name in ours if "__pycache__" not in name}
    for names in held.values():
        assert set(names) == ours


def test_the_templates_of_the_pages_are_in_wheels(wheels: dict[str, Path]) -> None:
    """An editable install finds them in the checkout, like everything of `trainer/`."""
    ours = {path.name for path in (BUILT_IN / "trainer" / "report" / "templates").iterdir()}
    assert len(ours) > 4
    for kind in ("wheel", "wheel of the source archive"):
        names = zipfile.ZipFile(wheels[kind]).namelist()
        folder = "trainer/report/templates/"
        assert {name.removeprefix(folder) for name in names if name.startswith(folder)} == ours


def installed(how: str, wheels: dict[str, Path], folder: Path) -> tuple[Path, dict[str, str]]:
    """Install attn-drill, and nothing that it needs, offline; return the Python and its variables.

    What it needs is found in the environment of this test.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    python = Path(sys._base_executable)  # type: ignore[attr-defined]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
    ]
    if how == "user":
        base = folder / "base"
        environment["PYTHONUSERBASE"] = str(base)
        asked = "import site; print(site.getusersitepackages())"
        place = Path(
            subprocess.run(
                [python, "-c", asked], env=environment, capture_output=True, text=True, check=True
            ).stdout.strip()
        )
        place.mkdir(parents=True)
        pip += ["--target", str(place), str(wheels["wheel"])]
    else:
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
        )
        python = folder / "venv" / "bin" / "python"
        (place,) = (folder / "venv" / "lib").glob("*/site-packages")
        pip[3:3] = ["--python", str(python)]
        pip += [
            str(wheels["wheel" if how == "wheel" else "editable"])
        ]  # pip -e installs the latter
    subprocess.run(pip, env=environment, check=True, capture_output=True)
    if how == "editable, by an earlier version":
        for part in ("challenges", "solutions"):
            shutil.copytree(BUILT_IN / part, place / "trainer" / "_pack" / part)
    (place / "needs.pth").write_text("".join(f"{path}\n" for path in readable_files.site_folders()))
    environment["ATTN_DRILL_HOME"] = str(folder / "home")
    return python, environment


@pytest.mark.sampled(2)
@needs_pip
@needs_kernel
@pytest.mark.parametrize(
    "how",
    [
        "editable",
        "user",
        pytest.param("wheel", marks=pytest.mark.thorough),
        "editable, by an earlier version",
    ],
)
def test_no_walk_finds_a_reference_in_an_installation(
    wheels: dict[str, Path], tmp_path: Path, how: str
) -> None:
    """A submission that executes each reference it finds passes where nothing is hidden, and not otherwise."""
    python, environment = installed(how, wheels, tmp_path)
    (tmp_path / "gqa.py").write_text(WALKS.read_text())

    def verdict(*before: str) -> str:
        code = "\n".join((*before, "from trainer.cli.commands import main", "main()"))
        command = [
            python,
            "-c",
            code,
            "check",
            "gqa",
            "gqa.py",
            "--json",
            "--no-why",
            "--time-limit",
            "60",
        ]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.stdout, done.stderr
        found: str = json.loads(done.stdout)["verdict"]
        return found

    assert verdict() == "failed"
    if how == "editable":
        assert not list(tmp_path.rglob("_pack"))
        return
    opened = "from pathlib import Path\nfrom trainer.sandbox import confine\nconfine.readable_paths = lambda hidden: ['/']"
    assert verdict(opened) == "passed"
