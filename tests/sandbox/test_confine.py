"""The confinement of a worker: forbidden actions fail, and honest code still works."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
from pathlib import Path

import pytest
import torch

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Submission
from attn_drill.model.errors import GraderError
from attn_drill.packs import pack_reader
from attn_drill.sandbox import confine, isolation
from attn_drill.sandbox.isolation import Isolation, descendants
from attn_drill.worker._forkserver import NOT_CONFINED
from attn_drill.worker.protocol import SubmittedFile
from attn_drill.worker.worker_client import WorkerRun
from tests.support.grading import report_of
from tests.support.isolation import (
    HIDDEN,
    SOURCE,
    SUMS,
    grade,
    grader_by,
    linux,
    message_of,
    needs_bubblewrap,
    needs_kernel,
    selftest_by,
    wait_until,
)
from tests.support.paths import TINY_PACK
from tests.support.rows import each_row

# The kernel can send a signal of any kind to the owner of a pipe, and the owner may be any process.
# So a pipe could be a way around the refused signals.
OWNS_A_PIPE = """import fcntl
    r, w = os.pipe()
    fcntl.fcntl(r, fcntl.F_SETOWN, os.getppid())
    fcntl.fcntl(r, 10, 9)  # F_SETSIG: SIGKILL
    fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC)
    os.write(w, b'x')"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "how", [pytest.param("kernel", marks=linux), pytest.param("bubblewrap", marks=needs_bubblewrap)]
)
def test_a_pipe_cannot_signal_the_fork_server(how: Isolation) -> None:
    """The fork server lives on as the owner of a pipe. When it ends, all its processes end."""
    if how == "kernel" and not (isolation._has_landlock() and isolation.has_seccomp()):
        pytest.skip("this kernel has no Landlock, or no seccomp")
    with grader_by(how) as grader:
        started = {grader.workers._fork_server._pid, *descendants(grader.workers._fork_server._pid)}
        with contextlib.suppress(GraderError):
            grade(grader, OWNS_A_PIPE)
        assert grade(grader, "pass").verdict == "passed"
    # A process inside bubblewrap ends a moment after bubblewrap.
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in started))


def first_failure(grader: Grader, body: str) -> str:
    """Return the message about a prefix sum that runs `body` first, or "" if it passes."""
    return message_of(report_of(grader, SUMS, SOURCE.format(body), "prefix_sum.py", 3))


@linux
@pytest.mark.sampled(3)
@each_row(
    "body",
    {
        "socket": "import socket; socket.socket()",
        "socketpair": "import socket; socket.socketpair()",
        "fork": "os.fork()",
        "subprocess": "import subprocess; subprocess.run(['true'])",
        "exec": "os.execv('/bin/true', ['true'])",
        "multiprocessing": "import multiprocessing as m; m.Process(target=print).start()",
        "kill the fork server": "os.kill(os.getppid(), 9)",
        "memory outside the limit": "os.memfd_create('x')",
    },
)
def test_forbidden_actions_are_refused(grader: Grader, body: str) -> None:
    """The error names the forbidden actions and quotes the system's error."""
    assert_refused(
        grader, body, "tried to use the network, to start a process, or to do something else"
    )


SOLUTIONS = [
    pack_reader.built_in_pack() / "solutions/gqa/solution.py",
    TINY_PACK / "solutions/prefix_sum/solution.py",
]


@linux
@pytest.mark.sampled(3)
@each_row(
    "body, path",
    {
        "the fork server's environment": ("open(f'/proc/{os.getppid()}/environ').read()", "/proc/"),
        "the fork server's memory": ("open(f'/proc/{os.getppid()}/mem', 'rb')", "/proc/"),
        "the root": ("os.listdir('/')", "/,"),
        "the home": (f"os.listdir({str(Path.home())!r})", f"{Path.home()},"),
        "passwd": ("open('/etc/passwd')", "/etc/passwd,"),
        "write to /tmp": ("open('/tmp/attn-drill-leak', 'w')", "/tmp/attn-drill-leak,"),
        "a solution": (f"open({str(SOLUTIONS[0])!r})", "/"),
        "its own solution": (f"open({str(SOLUTIONS[1])!r})", "/"),
        "the engine": (f"os.listdir({str(pack_reader.PACKAGE)!r})", f"{pack_reader.PACKAGE},"),
    },
)
def test_forbidden_paths_are_refused(grader: Grader, body: str, path: str) -> None:
    """The error names the path and quotes the system's error."""
    assert_refused(grader, body, f"tried to read or change {path}")


def assert_refused(grader: Grader, body: str, says: str) -> None:
    """Assert that the system refuses what `body` does, and that the grader lives on."""
    message = first_failure(grader, body)
    assert re.search(r"\[Errno (1|13|30|38)\]", message), message
    assert f"it {says}" in message
    assert first_failure(grader, "pass") == ""


@pytest.mark.sampled(4)
@each_row(
    "body",
    {
        "its own folder": "open('note.txt', 'w').write('x')",
        "tempfile": "import tempfile; tempfile.TemporaryFile().write(b'x')",
        "a thread": "import threading; t = threading.Thread(target=print); t.start(); t.join()",
        "torch's threads": "if len(x) == 3:\n"
        "        torch.set_num_threads(2)\n"
        "        torch.randn(300, 300) @ torch.randn(300, 300)",
        "the standard library": (
            "import json, decimal, fractions, random, itertools, xml.dom.minidom"
        ),
        "installed packages": "import numpy.polynomial.chebyshev",
        "torch.compile, which compiles nothing here": "torch.compile(lambda y: y + 1)(x)",
        "torch.jit": "torch.jit.script(torch.nn.Linear(2, 2))",
        "its own source": "import inspect; assert 'cumsum' in inspect.getsource(prefix_sum)",
        "numpy": "import numpy as np; np.linalg.svd(np.random.default_rng().random((60, 60)))",
        "memmap": "import numpy as np; m = np.memmap('m', 'f4', 'w+', shape=9); m[:] = 1; "
        "m.flush(); assert np.fromfile('m', 'f4').sum() == 9",
        "torch's libraries": (
            "torch.linalg.eigh(torch.eye(40)); torch.fft.fft(torch.ones(8)); torch.randn(3).sort()"
        ),
        "torch.save and torch.load": "if len(x) == 3:\n"
        "        torch.save(x.detach(), 'x.pt'); "
        "assert torch.load('x.pt', mmap=True).equal(x)",
        "a storage in a file": (
            "torch.UntypedStorage.from_file('s', shared=True, nbytes=64).fill_(0)"
        ),
        "a loader without workers": (
            "from torch.utils.data import DataLoader; list(DataLoader(range(9), batch_size=3))"
        ),
        "layers": "import copy; copy.deepcopy(torch.nn.LSTM(8, 2, "
        "batch_first=True)).eval()(torch.ones(1, 3, 8))",
        "a pool": "from concurrent.futures import ThreadPoolExecutor as E\n"
        "    with E(4) as pool:\n"
        "        assert sum(pool.map(abs, range(-9, 9))) == 81",
        "pathlib": "import pathlib as p; f = p.Path('f'); f.touch(); f.touch(); "
        "assert f.exists() and [*p.Path().glob('*')]; f.unlink()",
        "shutil": (
            "import os, shutil\n    os.makedirs('a/b', exist_ok=True); open('a/b/c', 'w').close()\n"
            "    shutil.copyfile('a/b/c', 'd'); shutil.move('d', 'e'); os.listdir('.'); "
            "shutil.disk_usage('.'); shutil.rmtree('a')"
        ),
        "a temporary file that is removed": "import tempfile\n"
        "    with tempfile.TemporaryDirectory() as d, "
        "tempfile.NamedTemporaryFile(dir=d) as f:\n"
        "        f.write(b'x')",
        "a file to the disk": (
            "f = open('f', 'w+b'); f.write(b'x'); f.flush(); os.fsync(f.fileno()); "
            "os.ftruncate(f.fileno(), 0); f.close()"
        ),
        "sqlite3": "import sqlite3\n"
        "    with sqlite3.connect('own.db') as d:\n"
        "        d.execute('create table if not exists t (x)')\n"
        "    d.close()",
        "archives": "import gzip, zipfile; gzip.open('g', 'w').write(b'x'); "
        "zipfile.ZipFile('z', 'w').writestr('x', 'y')",
        "mmap": (
            "import mmap; m = mmap.mmap(-1, 1 << 20); m[:2] = b'xy'; m.resize(2 << 20); m.close()"
        ),
        "time": "import time, datetime; time.sleep(0.001); time.process_time(); "
        "time.thread_time(); time.get_clock_info('time'); datetime.datetime.now()",
        "the machine": "import locale, decimal, platform, uuid, secrets; locale.getlocale(); "
        "platform.platform(); uuid.uuid4(); secrets.token_hex()",
        "resource": "import resource; resource.getrlimit(resource.RLIMIT_AS); "
        "resource.getrusage(resource.RUSAGE_SELF); os.times()",
        "os": "os.cpu_count(); os.sched_getaffinity(0); os.getpid(); os.getuid(); os.uname(); "
        "os.urandom(4); os.getgroups()",
        "a pipe": (
            "import select\n    r, w = os.pipe(); os.set_blocking(r, False); os.write(w, b'x')\n"
            "    assert select.select([r], [], [], 1)[0]; p = select.poll(); p.register(r); "
            "p.poll(1); os.set_inheritable(os.dup(r), True); os.close(r); os.close(w)"
        ),
        "faulthandler": "import faulthandler, io; faulthandler.dump_traceback(open('t', 'w'))",
        "signals to itself": "import signal, time\n"
        "    signal.signal(signal.SIGALRM, lambda *a: None); "
        "signal.signal(signal.SIGUSR1, lambda *a: None)\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.001); signal.alarm(0); "
        "signal.raise_signal(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1)\n"
        "    import threading; signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)",
        "a callback from C": "import ctypes; ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 3)()",
        "logging": "import warnings, logging; logging.basicConfig(filename='log'); "
        "logging.warning('x'); warnings.warn('x')",
        "selectors": "import selectors; selectors.DefaultSelector",
    },
)
def test_honest_code_still_works(grader: Grader, body: str) -> None:
    """The confinement refuses nothing that an honest submission does."""
    assert first_failure(grader, body) == ""


@needs_kernel
@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0,
    reason="a user without capabilities has none to keep",
)
def test_the_selftest_finds_kept_capabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """The self-test reports a worker of root that keeps its capabilities."""
    monkeypatch.setattr(confine, "_drop_capabilities", lambda: None)
    assert "gain privileges" in selftest_by("kernel").open


@pytest.mark.parametrize(
    ("readable", "room", "expected"),
    [
        ("/usr/lib/python3", "/tmp/room", "/usr"),
        ("/tmp/venv/lib", "/tmp/room", "/tmp/venv"),
        ("/tmp/rooms/lib", "/tmp/room", "/tmp/rooms"),
        ("/home/ana/venv/lib", "/home/ana/tmp/room", "/home/ana/venv"),
        ("/dev/null", "/tmp/room", "/dev"),
        ("/tmp", "/tmp/room", "/tmp"),
        ("/", "/tmp/room", "/"),
    ],
)
def test_the_allowed_folder_does_not_contain_the_room(
    readable: str, room: str, expected: str
) -> None:
    """A worker's own layer allows the folders of other workers only if the room is readable."""
    assert confine._folder_outside_room(readable, room) == expected


def no_verdict(how: Isolation = "kernel") -> str:
    """Return the message of the error of a new grader, which must not run its submission.

    A submission that ran would have a verdict, whatever it does.
    """
    with Grader([TINY_PACK], isolation=how) as grader, pytest.raises(GraderError) as caught:
        report_of(grader, SUMS, SOURCE.format("pass"), "prefix_sum.py", 7)
    return str(caught.value)


@needs_kernel
def test_no_submission_runs_without_its_own_landlock_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the kernel makes the ruleset of all workers but not the worker's own, nothing is run."""
    calls, new_ruleset = list[int](), confine._new_ruleset

    def first_ruleset_only() -> int:
        calls.append(1)
        return new_ruleset() if len(calls) == 1 else -1

    monkeypatch.setattr(confine, "_new_ruleset", first_ruleset_only)
    assert "the kernel does not make Landlock rules for a worker" in no_verdict()


def refuse_option(monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    """Make prctl fail for one option."""
    libc = confine.libc()

    class Refusing:
        """A C library whose kernel refuses the option."""

        syscall = libc.syscall

        @staticmethod
        def prctl(option: int, *given: object) -> int:
            """Return -1 for the option."""
            return -1 if option == refused else int(libc.prctl(option, *given))

    monkeypatch.setattr(confine, "libc", Refusing)


@needs_kernel
def test_no_submission_runs_if_new_privileges_are_not_forbidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without PR_SET_NO_NEW_PRIVS, the filter and the rules would not hold for all programs."""
    refuse_option(monkeypatch, confine._PR_SET_NO_NEW_PRIVS)
    assert "the kernel does not forbid new privileges" in no_verdict()


@needs_kernel
def test_no_submission_runs_without_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that has seccomp may still refuse the program."""
    monkeypatch.setattr(confine._system_calls, "install", lambda machine, process: False)
    assert "the kernel does not accept the seccomp filter" in no_verdict()


@needs_kernel
def test_no_submission_runs_with_its_capabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may refuse to drop them."""
    monkeypatch.setattr(confine, "CAPSET", {platform.machine(): 1 << 20})  # no such system call
    assert "the kernel does not drop the capabilities of a worker" in no_verdict()


@pytest.mark.parametrize("how", [pytest.param("kernel", marks=linux), "limits"])
@pytest.mark.parametrize("limit", ["RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE"])
def test_no_submission_runs_without_a_limit(
    monkeypatch: pytest.MonkeyPatch, how: Isolation, limit: str
) -> None:
    """The limits are all that holds on other systems than Linux."""
    number, set_limit = getattr(confine.resource, limit), confine.resource.setrlimit

    def refuse(resource_id: int, limits: tuple[int, int]) -> None:
        if resource_id == number:
            raise ValueError("not allowed to raise maximum limit")
        set_limit(resource_id, limits)

    monkeypatch.setattr(confine.resource, "setrlimit", refuse)
    assert "the kernel does not accept a limit: not allowed to raise" in no_verdict(how)


def test_a_submission_cannot_pretend_that_it_is_not_confined(grader: Grader) -> None:
    """It ends with the exit code of such a worker. A worker that has begun gets a verdict."""
    message = first_failure(grader, f"os._exit({NOT_CONFINED})")
    assert str(NOT_CONFINED) in message
    source = f"import os\nos._exit({NOT_CONFINED})\n"
    report = report_of(grader, SUMS, source, "prefix_sum.py", 3)
    assert report.verdict == "error"


STARTS_MANY = """import subprocess, time
    if x.shape[0] > 0 and not os.path.exists('started'):
        open('started', 'w').close()
        started = [subprocess.Popen(['sleep', '30']) for _ in range(40)]
        time.sleep(30)"""


@linux
@pytest.mark.parametrize("way", ["children", "orphans"])
def test_processes_of_one_worker_do_not_end_another(way: str) -> None:
    """With limits only, a submission may start processes; its own worker alone ends for them."""
    source = SOURCE.format(STARTS_MANY)
    if way == "orphans":
        started = "subprocess.Popen(['sleep', '30'])"
        assert started in source
        source = source.replace(started, "os.system('sleep 30 &')")
    with Grader([TINY_PACK], isolation="limits") as grader:
        case_set = grader.case_set(SUMS, 7)
        workers = grader.workers
        waiting = WorkerRun(workers._fork_server, case_set.request(), workers.limits)
        ended = workers.run(case_set, Submission("a.py", source))
        assert ended.how == "died"
        assert re.search(r"it started \d+ processes; a submission may start none", ended.reason)
        waiting.submit(SubmittedFile("b.py", SOURCE.format("pass")))
        assert workers.finish(waiting).how == "replied"
        pid = workers._fork_server._pid
        wait_until(lambda: list(descendants(pid)) == [])


def allows(allowed: list[str], path: Path) -> bool:
    """Return True if a path, or one of its parents, is in the list of readable paths."""
    return not {str(path), *map(str, path.parents)}.isdisjoint(allowed)


def hidden_package(site: Path) -> Path:
    """Write a package with a pack into the package folder and return the pack's hidden folder."""
    hidden = site / "course" / "pack" / "solutions"
    hidden.mkdir(parents=True)
    (hidden / "solution.py").touch()
    (site / "course" / "__init__.py").touch()
    (site / "course" / "pack" / "pack.toml").touch()
    return hidden


def test_a_hidden_folder_is_not_readable_but_its_neighbours_are(site: Path) -> None:
    """A tree that contains a hidden folder is split into its entries, level by level."""
    hidden = hidden_package(site)
    allowed = confine.readable_paths([hidden])
    assert not allows(allowed, hidden / "solution.py")
    assert not allows(allowed, hidden)
    for path in ("course/__init__.py", "course/pack/pack.toml", "neighbour/module.py"):
        assert allows(allowed, site / path)


def test_without_hidden_paths_a_package_folder_is_one_entry(site: Path) -> None:
    """Each entry is a rule of Landlock, so there are no more than needed."""
    hidden_package(site)
    allowed = confine.readable_paths([])
    assert str(site) in allowed
    assert not [path for path in allowed if path.startswith(f"{site}/")]


def test_the_engine_and_its_packs_are_not_readable() -> None:
    """This holds for a checkout and for an installed package."""
    allowed = confine.readable_paths(HIDDEN)
    assert not [path for path in HIDDEN if allows(allowed, path.resolve())]


def test_the_standard_library_and_installed_packages_are_readable() -> None:
    """This holds whatever folders are hidden."""
    allowed = confine.readable_paths(HIDDEN)
    for module in (os, pytest, torch):
        assert allows(allowed, Path(module.__file__).resolve())


def test_links_to_readable_neighbours_are_readable(site: Path) -> None:
    """bubblewrap shows only listed paths, so the link to a library must be in the list."""
    hidden = hidden_package(site)
    (site / "libx.so.1").touch()
    (site / "libx.so").symlink_to("libx.so.1")
    (site / "far").symlink_to(TINY_PACK)
    (site / "into").symlink_to(hidden)
    allowed = confine.readable_paths([hidden])
    assert str(site / "libx.so") in allowed
    assert not {str(site / "far"), str(site / "into")} & set(allowed)
