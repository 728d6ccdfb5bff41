"""The builds: their files, their metadata, and a wheel in a fresh environment."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.support.paths import PACKAGE, ROOT

BUILD = (
    "import sys; from hatchling.build import build_editable, build_sdist, build_wheel; "
    "kinds = {'editable': build_editable, 'wheel': build_wheel, 'sdist': build_sdist}; "
    "print(kinds[sys.argv[1]](sys.argv[2]))"
)
FORGE = {
    "GITHUB_SERVER_URL": "https://forge.example",
    "GITHUB_REPOSITORY": "owner/attn-drill",
    "GITHUB_REF_NAME": "v1.2.3",
}


def build(kind: str, root: Path, place: Path, environment: dict[str, str]) -> Path:
    """Build the project in `root`, and return the file."""
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, kind, str(place)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return place / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build an editable install, a wheel of a forge, and a wheel from the source archive."""
    folder = tmp_path_factory.mktemp("built")
    plain = {name: value for name, value in os.environ.items() if name not in FORGE}
    with tarfile.open(build("sdist", ROOT, folder / "sdist", plain)) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.glob("attn_drill-*/")
    return {
        "editable": build("editable", ROOT, folder / "editable", plain),
        "wheel": build("wheel", ROOT, folder / "wheel", {**plain, **FORGE}),
        "wheel of the source archive": build("wheel", source, folder / "again", plain),
    }


@pytest.mark.thorough
def test_wheels_contain_pack_and_templates(wheels: dict[str, Path]) -> None:
    """An editable install uses the files of the checkout."""
    expected = {
        f"attn_drill/_pack/{path.relative_to(ROOT).as_posix()}"
        for part in ("challenges", "solutions")
        for path in (ROOT / part).rglob("*.*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected |= {f"attn_drill/_pack/docs/conventions{word}.md" for word in ("", ".zh")}
    templates = (PACKAGE / "report" / "templates").iterdir()
    expected |= {f"attn_drill/report/templates/{path.name}" for path in templates}
    for kind, path in wheels.items():
        names = zipfile.ZipFile(path).namelist()
        data = {name for name in names if re.match(r"attn_drill/(_pack|report/templates)/", name)}
        assert data == (set() if kind == "editable" else expected), kind


@pytest.mark.thorough
def test_the_description_has_absolute_links_on_a_forge_only(wheels: dict[str, Path]) -> None:
    """A page on an index is far from the repository. A clone has no address."""
    texts = {}
    for kind, path in wheels.items():
        archive = zipfile.ZipFile(path)
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = message_from_bytes(archive.read(name))
        urls = message.get_all("Project-URL") or []
        texts[kind] = archive.read(name).decode().partition("\n\n")[2]
        assert [url.partition(",")[0] for url in urls] == (
            ["Source", "Documentation", "Changelog", "Issues"] if kind == "wheel" else []
        )
    readme = (ROOT / "README.md").read_text()
    assert texts["editable"].strip() == texts["wheel of the source archive"].strip()
    assert texts["editable"].strip() == readme.strip()
    address = "https://forge.example/owner/attn-drill"
    targets = re.findall(r"\]\(([^)]*)\)", texts["wheel"])
    assert len(targets) == len(re.findall(r"\]\(", readme))
    assert all(target.startswith("http") for target in targets)
    assert f"({address}/blob/v1.2.3/docs/practice.md)" in texts["wheel"]
    assert f"({address}/raw/v1.2.3/docs/report.svg)" in texts["wheel"]


@pytest.mark.thorough
def test_a_wheel_works_in_a_fresh_environment(wheels: dict[str, Path], tmp_path: Path) -> None:
    """The commands run with the pack of the wheel, in a folder without the checkout.

    A course may have its own `trainer.py`: pytest runs there, with the plugin. The dependencies
    come from the environment of this test.
    """
    pytest.importorskip("pip", reason="this environment has no pip")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install", "-q"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheels["wheel"])], check=True)
    (site,) = (venv / "lib").glob("*/site-packages")
    sites = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in sites))
    work = tmp_path / "work"
    work.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def drill(*arguments: str) -> str:
        done = subprocess.run(
            [venv / "bin" / "attn-drill", *arguments],
            cwd=work,
            env={**inherited, "ATTN_DRILL_HOME": str(tmp_path / "home")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "grade" in drill("--help")
    assert "sdpa" in drill("list")
    drill("start", "sdpa")
    assert (work / "sdpa.py").exists()
    reference = site / "attn_drill" / "_pack" / "solutions" / "sdpa" / "solution.py"
    (work / "sdpa.py").write_text(reference.read_text())
    assert json.loads(drill("check", "sdpa", "--json"))["verdict"] == "passed"
    (work / "class").mkdir()
    (work / "class" / "ana.py").write_text(reference.read_text())
    drill("grade", "class", "--challenge", "sdpa", "--out", "out", "--allow-weaker-isolation")
    assert ",100" in (work / "out" / "grades.csv").read_text()
    course = tmp_path / "course"
    course.mkdir()
    (course / "trainer.py").write_text("STEPS = 3\n")
    (course / "test_trainer.py").write_text("import trainer\n\ndef test(): assert trainer.STEPS\n")
    for words, said in ((["-v"], "1 passed"), (["--help"], "--drill")):
        tested = subprocess.run(
            [venv / "bin" / "python", "-m", "pytest", *words],
            cwd=course,
            env=inherited,
            capture_output=True,
            text=True,
        )
        assert said in tested.stdout, tested.stdout + tested.stderr
