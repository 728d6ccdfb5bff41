"""Copies of a pack in the environment: the build ships none twice, no worker reads any, `grade` looks for them."""

import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.grading import report_of
from tests.support.paths import TESTS, TINY_PACK
from tests.test_sandbox import needs_bubblewrap, needs_kernel
from trainer.grading.grader import Grader
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.sandbox import copy_check, copy_search, readable_files
from trainer.server.messages import Grade, IsolationNeed, Refused, Verdict
from trainer.server.process import ServerProcess
from trainer.worker.forkserver_client import ForkServer
from trainer.worker.selftest import COPIES, copies_readable_by, probe_isolation

ROOT = pack_reader.built_in_pack()
HIDDEN = [
    pack_reader.TRAINER,
    *(root / part for root in (TINY_PACK, ROOT) for part in ("challenges", "solutions")),
]
REFERENCE = TINY_PACK / "solutions" / "prefix_sum" / "solution.py"
WALKS = TESTS / "hostile" / "submissions" / "walks_the_installation.py"
needs_pip = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="this environment has no pip"
)
COMPILED = f"__pycache__/solution.{sys.implementation.cache_tag}.pyc"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that this process and its workers import from."""
    folder = tmp_path / "lib" / "site-packages"
    (folder / "neighbour").mkdir(parents=True)
    (folder / "neighbour" / "module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(folder)
    return folder


def planted(folder: Path) -> Path:
    """Copy the tiny pack into a folder; return the folder."""
    for part in ("challenges", "solutions"):
        shutil.copytree(
            TINY_PACK / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder


def compiled_alone(site: Path) -> Path:
    """Leave compiled modules of a pack without their sources."""
    place = site / "left" / "solutions" / "prefix_sum" / COMPILED
    py_compile.compile(str(REFERENCE), str(place), doraise=True)
    return place


def registered(site: Path) -> Path:
    """Install a pack that lies deep in a package, with an entry point."""
    (site / "course-1.dist-info").mkdir()
    (site / "course-1.dist-info" / "entry_points.txt").write_text(
        "[attn_drill.packs]\ncourse = course.of.this.year\n"
    )
    return planted(site / "course" / "of" / "this" / "year")


def as_wheel(site: Path) -> Path:
    """Leave a wheel of a pack among the packages."""
    with zipfile.ZipFile(site / "course-1-py3-none-any.whl", "w") as archive:
        archive.write(REFERENCE, "course/solutions/prefix_sum/solution.py")
    return site / "course-1-py3-none-any.whl"


def an_environment(site: Path) -> Path:
    """Put a virtual environment with an installed pack among the packages."""
    (site / "tool").mkdir()
    (site / "tool" / "pyvenv.cfg").touch()
    return planted(site / "tool" / "lib" / "python3.99" / "anything" / "trainer" / "_pack")


def metadata(site: Path) -> Path:
    """Install the names of attn-drill's files."""
    (site / "attn_drill-9.dist-info").mkdir()
    (site / "attn_drill-9.dist-info" / "RECORD").write_text(
        "trainer/_pack/solutions/gqa/solution.py,,\n"
    )
    return site / "attn_drill-9.dist-info" / "RECORD"


PLACES = [
    pytest.param(
        lambda site: planted(site / "trainer" / "_pack"), id="a wheel, or an old editable install"
    ),
    pytest.param(lambda site: planted(site / "~rainer" / "_pack"), id="an interrupted uninstall"),
    pytest.param(lambda site: planted(site / "course"), id="a package"),
    pytest.param(lambda site: planted(site / "school" / "course"), id="a package in a package"),
    pytest.param(planted, id="at the top"),
    pytest.param(compiled_alone, id="compiled modules alone"),
    pytest.param(registered, id="an entry point"),
    pytest.param(as_wheel, id="an archive"),
    pytest.param(an_environment, id="another environment"),
    pytest.param(metadata, id="metadata"),
    pytest.param(
        lambda site: planted(site.parent / "dist-packages" / "course"),
        id="a folder that is not imported from",
    ),
]


def allows(allowed: list[str], path: Path) -> bool:
    """Tell whether a path is among the readable ones, or lies in one of them."""
    return not {str(path), *map(str, path.parents)}.isdisjoint(allowed)


@pytest.mark.parametrize("plant", PLACES)
def test_no_copy_is_readable(site: Path, plant: Callable[[Path], Path]) -> None:
    """Each file of a copy is left out wherever it lies; the packages around it are readable."""
    place = plant(site)
    files = [
        path for path in place.rglob("*") if path.is_file() and path.parent.name != "neighbour"
    ]
    allowed = readable_files.readable_paths([])
    assert not [path for path in files or [place] if allows(allowed, path)]
    assert allows(allowed, site / "neighbour" / "module.py")


def test_other_interpreters_packages_are_not_readable(site: Path) -> None:
    """Of folders of packages those alone that this process imports from."""
    allowed = readable_files.readable_paths([])
    base = Path(
        sys.base_prefix,
        "lib",
        f"python{sys.version_info.major}.{sys.version_info.minor}",
        "site-packages",
    )
    elsewhere = [
        base,
        Path("/usr/lib/python3/dist-packages"),
        Path(f"/usr/local/lib/{base.parent.name}/dist-packages"),
    ]
    imported = {os.path.realpath(path) for path in sys.path}
    assert not [
        path
        for path in elsewhere
        if os.path.realpath(path) not in imported and allows(allowed, path.resolve() / "x.py")
    ]
    assert allows(allowed, Path(os.__file__).resolve())
    assert allows(allowed, Path(pytest.__file__).resolve())


def test_the_checkout_is_not_readable_beside_a_hidden_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history of a checkout in a readable tree holds what its folders hold."""
    tree = tmp_path / "usr" / "lib"
    pack = planted(tree / "a" / "b" / "c" / "d" / "checkout")
    (pack / ".git").mkdir()
    (tree / "libx.so").touch()
    monkeypatch.setattr(readable_files, "_SYSTEM_FOLDERS", (str(tree),))
    allowed = readable_files.readable_paths([pack / "challenges", pack / "solutions"])
    assert not allows(allowed, pack / ".git")
    assert allows(allowed, tree / "libx.so")


def test_links_of_a_split_folder_stay(site: Path) -> None:
    """bubblewrap shows what is named alone: a library that is known by a link is still found."""
    planted(site / "course")
    (site / "libx.so.1").touch()
    (site / "libx.so").symlink_to("libx.so.1")
    (site / "link").symlink_to("course")
    (site / "far").symlink_to(TINY_PACK)
    allowed = readable_files.readable_paths([])
    assert str(site / "libx.so") in allowed
    assert not {str(site / "link"), str(site / "far")} & set(allowed)


@needs_kernel
def test_a_package_beside_a_copy_can_still_be_imported(site: Path, grader: Grader) -> None:
    """A worker cannot list a folder that something is hidden in; it imports from it all the same."""
    metadata(site)
    challenge = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
    source = f"import neighbour.module\nimport importlib.metadata as m\nassert m.version('torch')\n{pack_reader.solution(challenge)}"
    with Grader([TINY_PACK], grader.workers.limits, isolation="kernel") as made:
        report = report_of(made, challenge, source, "prefix_sum.py", 5)
    assert report.verdict == "passed", report.first_failure()


# The search, in real workers

FORMS: dict[str, Callable[[Path], object]] = {
    "text": lambda folder: shutil.copy(REFERENCE, folder / "solution.py"),
    "another name": lambda folder: shutil.copy(REFERENCE, folder / "notes.txt"),
    "cases": lambda folder: shutil.copy(TINY_PACK / "challenges/prefix_sum/cases.py", folder / "c"),
    "line ends": lambda folder: (folder / "solution.py").write_bytes(
        REFERENCE.read_bytes().replace(b"\n", b"\r\n")
    ),
    "compiled": lambda folder: py_compile.compile(
        str(REFERENCE), str(folder / "x.pyc"), doraise=True
    ),
    "compiled without docstrings": lambda folder: py_compile.compile(
        str(REFERENCE), str(folder / "x.pyc"), doraise=True, optimize=2
    ),
    "compiled, by hash": lambda folder: py_compile.compile(
        str(REFERENCE),
        str(folder / "x.pyc"),
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    ),
    "compiled by another Python": lambda folder: of_another_python(
        folder / "solution.cpython-399.pyc"
    ),
    "zip": lambda folder: zipped(folder / "a.zip", REFERENCE),
    "wheel of compiled modules": lambda folder: zipped(
        folder / "a.whl",
        Path(py_compile.compile(str(REFERENCE), str(folder.parent / "y"), doraise=True) or ""),
    ),
    "tar": lambda folder: tarred(folder / "a.tar.gz"),
}


def of_another_python(path: Path) -> None:
    """Write a compiled reference as another version of Python would."""
    py_compile.compile(str(REFERENCE), str(path), doraise=True)
    path.write_bytes(b"\x00\x00\r\n" + path.read_bytes()[4:])


def zipped(path: Path, file: Path) -> None:
    """Write an archive with one file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(file, f"deep/er/file{'.pyc' if file != REFERENCE else '.py'}")


def tarred(path: Path) -> None:
    """Write a compressed archive with the reference."""
    with tarfile.open(path, "w:gz") as archive:
        archive.add(REFERENCE, "deep/er/solution.py")


def found_by_a_worker(how: str = "kernel") -> copy_check.Copies:
    """Search with the workers of a fork server that hides what a grader hides."""
    fork_server = ForkServer(HIDDEN, how)  # type: ignore[arg-type]
    try:
        return copies_readable_by(fork_server, HIDDEN)
    finally:
        fork_server.close()


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    """Search the test's own folder of packages alone: the others are searched by other tests."""

    def places(hidden: list[Path]) -> list[str]:
        # Inside bubblewrap /tmp is another folder, and this test's may lie elsewhere in it.
        return [
            *(path for path in readable_files.readable_paths(hidden) if path.startswith(str(site))),
            "/tmp",
        ]

    monkeypatch.setattr(copy_check, "_everywhere", places)
    monkeypatch.setattr(copy_check, "_near", lambda: [str(site)])


@needs_kernel
@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("form", FORMS)
def test_a_copy_in_any_form_is_found(site: Path, form: str) -> None:
    """Too deep for names to be looked at, and known by its content."""
    folder = site / "a" / "b" / "c" / "d" / "e"
    folder.mkdir(parents=True)
    FORMS[form](folder)
    found = found_by_a_worker()
    assert found.originals == ()
    assert [path.startswith(f"{folder}/") for path in found.found] == [True]
    assert f"can read {found.found[0]}, a copy" in found.sentence


@needs_kernel
@pytest.mark.usefixtures("quickly")
def test_what_is_no_copy_is_not_found(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the same size, other compiled modules of that size, broken archives, an empty file, a pipe."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    size = REFERENCE.stat().st_size
    (folder / "solution.py").write_bytes(b"#" * size)
    (folder / "other.py").write_text("x = 1\n".ljust(size))
    py_compile.compile(str(folder / "other.py"), str(folder / "solution.pyc"), doraise=True)
    (folder / "torn.pyc").write_bytes(
        importlib.util.MAGIC_NUMBER + bytes(8) + size.to_bytes(4, "little") + b"x"
    )
    for name in ("torn.zip", "torn.whl", "torn.tar.gz"):
        (folder / name).write_bytes(b"PK\x03\x04 torn")
    (folder / "empty").touch()
    os.mkfifo(folder / "pipe.zip")
    found = found_by_a_worker()
    assert (found.none, found.found) == (True, ())
    assert found.files >= 8


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize(
    "how",
    [
        pytest.param("kernel", marks=needs_kernel),
        pytest.param("bubblewrap", marks=needs_bubblewrap),
    ],
)
def test_a_copy_is_found_where_it_is_not_hidden(
    site: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Hidden, a worker reads none of it; with the hiding switched off, the search finds it."""
    planted(site / "trainer" / "_pack")
    assert found_by_a_worker(how).none
    monkeypatch.setattr(readable_files, "_copies_in", lambda *given: iter(()))
    found = found_by_a_worker(how).found
    assert {Path(path).name for path in found} >= {"solution.py"}
    assert all("/trainer/_pack/" in path for path in found)


@needs_kernel
def test_the_search_does_not_trust_the_engines_list(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in a folder that a worker cannot list is found though the list of what is readable omits it."""
    metadata(site)  # the folder is split
    shutil.copy(REFERENCE, site / "notes.txt")
    monkeypatch.setattr(copy_check, "_near", lambda: [str(site)])
    monkeypatch.setattr(copy_check, "_everywhere", lambda hidden: [])
    real = readable_files.readable_paths
    fork_server = ForkServer(HIDDEN, "kernel")
    try:
        copies_readable_by(fork_server, HIDDEN)  # the fork server has made its list now
        monkeypatch.setattr(
            readable_files,
            "readable_paths",
            lambda hidden: [path for path in real(hidden) if not path.startswith(str(site))],
        )
        assert copies_readable_by(fork_server, HIDDEN).found == (str(site / "notes.txt"),)
    finally:
        fork_server.close()


@needs_kernel
def test_the_row_of_the_probes(site: Path) -> None:
    """A copy makes the row OPEN, and nothing else."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    shutil.copy(REFERENCE, folder)
    found = probe_isolation(HIDDEN, "kernel")
    assert found.open == [COPIES]
    assert found.copies.found == (str(folder / "solution.py"),)


def test_a_search_that_is_cut_says_so(tmp_path: Path) -> None:
    """No time, no claim that all was searched."""
    (tmp_path / "a").mkdir()
    assert copy_search.Search([], 0.0).through([str(tmp_path)]).cut
    assert not copy_search.Search([], 60.0).through([str(tmp_path)]).cut


def test_links_are_followed_once(tmp_path: Path) -> None:
    """A circle of links comes to an end, and a link out of the folder is followed."""
    (tmp_path / "start").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "start" / "round").symlink_to(tmp_path / "start")
    (tmp_path / "start" / "out").symlink_to(tmp_path / "other")
    shutil.copy(REFERENCE, tmp_path / "other")
    wanted = list(copy_search.wanted_of("solution", REFERENCE.read_bytes()))
    assert copy_search.Search(wanted, 60.0).through([str(tmp_path / "start")]).found == [
        str(tmp_path / "other" / "solution.py")
    ]


def test_a_worker_is_told_no_content() -> None:
    """What is looked for is told by sizes and digests."""
    told = repr(list(copy_search.wanted_of("solution", REFERENCE.read_bytes())))
    assert not [
        line
        for line in REFERENCE.read_text().splitlines()
        if len(line.strip()) > 8 and line.strip() in told
    ]


# grade and doctor


@pytest.fixture
def copied(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a reference that names do not tell, in a folder that commands import from."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(site)]))
    return Path(shutil.copy(REFERENCE, folder / "hidden_by_nobody"))


def a_request(isolation: IsolationNeed) -> Grade:
    """Return a request to grade the reference of the tiny pack."""
    challenge = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
    submission = Submission("p.py", pack_reader.solution(challenge))
    return Grade(challenge.id, submission, 3, isolation=isolation, seconds=60.0)


@needs_kernel
def test_a_class_is_not_graded_beside_a_copy(copied: Path) -> None:
    """Nor where weaker isolation is accepted: this can be put right. The user's own file is graded."""
    station = ServerProcess((str(TINY_PACK),))
    try:
        needs: tuple[IsolationNeed, ...] = ("full", "weaker")
        for isolation in needs:
            answer = station.ask(a_request(isolation))
            assert isinstance(answer, Refused)
            assert answer.is_for_all
            assert str(copied) in answer.sentence
            assert "Remove it" in answer.sentence
        assert isinstance(station.ask(a_request("own")), Verdict)
    finally:
        station.close()


@pytest.mark.thorough
@needs_kernel
def test_doctor_names_the_copy(copied: Path, tmp_path: Path) -> None:
    """The row is OPEN, and the path stands below."""
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "--pack", str(TINY_PACK), "doctor"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"OPEN  {COPIES}" in done.stdout
    assert (
        f"A submission can read {copied}, a copy of a reference or of its cases. Remove it"
        in done.stdout
    )
    assert "Isolation is limited" not in done.stdout


# The build


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

    made = {kind: built(kind, ROOT, folder / kind) for kind in ("editable", "wheel", "sdist")}
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
        f"trainer/_pack/{path.relative_to(ROOT).as_posix()}"
        for part in ("challenges", "solutions")
        for path in (ROOT / part).rglob("*.*")
        if path.is_file()
    }
    ours = {name for name in ours if "__pycache__" not in name}
    for names in held.values():
        assert set(names) == ours


def test_the_templates_of_the_pages_are_in_wheels(wheels: dict[str, Path]) -> None:
    """An editable install finds them in the checkout, like everything of `trainer/`."""
    ours = {path.name for path in (ROOT / "trainer" / "report" / "templates").iterdir()}
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
            shutil.copytree(ROOT / part, place / "trainer" / "_pack" / part)
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
