"""The builds: their files, and that a submission finds no reference in an installation."""

import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.known_packs import BUILT_IN
from tests.support.sandbox import needs_kernel

needs_pip = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="this environment has no pip"
)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build an editable install, a wheel, and a wheel from the source archive, of the checkout."""
    folder = tmp_path_factory.mktemp("built")
    code = (
        "import sys; from hatchling.build import build_editable, build_sdist, build_wheel; "
        "kinds = {'editable': build_editable, 'wheel': build_wheel, 'sdist': build_sdist}; "
        "print(kinds[sys.argv[1]](sys.argv[2]))"
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


@pytest.mark.thorough
def test_only_wheels_contain_the_pack(wheels: dict[str, Path]) -> None:
    """An editable install uses the pack of the checkout. Submissions could read a second copy."""
    names_in_wheels = {
        kind: [
            name for name in zipfile.ZipFile(path).namelist() if name.startswith("trainer/_pack/")
        ]
        for kind, path in wheels.items()
    }
    assert names_in_wheels.pop("editable") == []
    expected = {
        f"trainer/_pack/{path.relative_to(BUILT_IN).as_posix()}"
        for part in ("challenges", "solutions")
        for path in (BUILT_IN / part).rglob("*.*")
        if path.is_file()
    }
    expected |= {f"trainer/_pack/docs/conventions{word}.md" for word in ("", ".zh")}
    expected = {name for name in expected if "__pycache__" not in name}
    for names in names_in_wheels.values():
        assert set(names) == expected


@pytest.mark.thorough
def test_wheels_contain_the_templates_of_the_pages(wheels: dict[str, Path]) -> None:
    """An editable install uses the templates of the checkout, as all files of `trainer/`."""
    expected = {path.name for path in (BUILT_IN / "trainer" / "report" / "templates").iterdir()}
    assert len(expected) > 4
    for kind in ("wheel", "wheel of the source archive"):
        names = zipfile.ZipFile(wheels[kind]).namelist()
        folder = "trainer/report/templates/"
        assert {name.removeprefix(folder) for name in names if name.startswith(folder)} == expected


def installed(how: str, wheels: dict[str, Path], folder: Path) -> tuple[Path, dict[str, str]]:
    """Install attn-drill offline, without its dependencies; return the Python and its variables.

    The dependencies come from the environment of this test.
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
        code = "import site; print(site.getusersitepackages())"
        site = Path(
            subprocess.run(
                [python, "-c", code], env=environment, capture_output=True, text=True, check=True
            ).stdout.strip()
        )
        site.mkdir(parents=True)
        pip += ["--target", str(site), str(wheels["wheel"])]
    else:
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
        )
        python = folder / "venv" / "bin" / "python"
        (site,) = (folder / "venv" / "lib").glob("*/site-packages")
        pip[3:3] = ["--python", str(python)]
        # `pip install -e` installs the wheel that is called "editable" here.
        pip += [str(wheels["wheel" if how == "wheel" else "editable"])]
    subprocess.run(pip, env=environment, check=True, capture_output=True)
    sites = [path for path in sys.path if path.endswith("site-packages")]
    (site / "needs.pth").write_text("".join(f"{path}\n" for path in sites))
    environment["ATTN_DRILL_HOME"] = str(folder / "home")
    return python, environment


@pytest.mark.sampled(3)
@pytest.mark.thorough
@needs_pip
@needs_kernel
@pytest.mark.parametrize(
    "how",
    [
        pytest.param("editable", marks=pytest.mark.thorough),
        pytest.param("user", marks=pytest.mark.thorough),
        "wheel",
    ],
)
def test_a_submission_cannot_read_the_installed_pack(
    wheels: dict[str, Path], tmp_path: Path, how: str
) -> None:
    """The reference may lie among the installed packages, which a worker may read."""
    python, environment = installed(how, wheels, tmp_path)
    find = "import pathlib, trainer; print(pathlib.Path(trainer.__file__).parent)"
    found = subprocess.run(
        [python, "-c", find], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    package = Path(found.stdout.strip())
    pack = BUILT_IN if how == "editable" else package / "_pack"
    reference = pack / "solutions" / "gqa" / "solution.py"
    assert reference.is_file()
    (tmp_path / "gqa.py").write_text(
        f"import numpy, torch\nprint(len(open({str(reference)!r}).read()))\n"
    )
    command = [python, "-m", "trainer", "check", "gqa", "gqa.py", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["verdict"] == "error", done.stderr
    assert f"it tried to read or change {reference}" in done.stdout
