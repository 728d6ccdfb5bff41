"""The confinement of a worker: forbidden actions fail, and honest code still works."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
from pathlib import Path

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Submission
from attn_drill.model.errors import GraderError
from attn_drill.packs import pack_reader
from attn_drill.sandbox import confine, isolation
from attn_drill.sandbox.isolation import (
    Isolation,
    descendants,
)
from attn_drill.worker._forkserver import NOT_CONFINED
from attn_drill.worker.protocol import SubmittedFile
from attn_drill.worker.selftest import run_selftest
from attn_drill.worker.worker_client import WorkerRun
from tests.support.grading import report_of
from tests.support.isolation import grade, grader_by
from tests.support.paths import TINY_PACK
from tests.support.sandbox import HIDDEN, linux, needs_bubblewrap, needs_kernel
from tests.support.waiting import wait_until

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


RIGHT = (
    "import os, sys, torch\n"
    "def prefix_sum(x, reverse=False):\n"
    "    {}\n"
    "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
)


def first_failure(grader: Grader, body: str) -> str:
    """Return the message about a prefix sum that runs `body` first, or "" if it passes."""
    report = report_of(
        grader,
        pack_reader.find_challenge(TINY_PACK, "prefix-sum"),
        RIGHT.format(body),
        "prefix_sum.py",
        3,
    )
    failure = report.first_failure()
    return "" if failure is None else failure.message


REFUSED = "tried to use the network, to start a process, or to do something else"


@linux
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param("import socket; socket.socket()", REFUSED, id="socket"),
        pytest.param(
            "import socket; socket.socketpair()",
            REFUSED,
            id="socketpair",
        ),
        pytest.param("os.fork()", REFUSED, id="fork"),
        pytest.param(
            "import subprocess; subprocess.run(['true'])",
            REFUSED,
            id="subprocess",
        ),
        pytest.param("os.execv('/bin/true', ['true'])", REFUSED, id="exec"),
        pytest.param(
            "import multiprocessing as m; p = m.Process(target=print); p.start()",
            REFUSED,
            id="multiprocessing",
        ),
        pytest.param("os.kill(os.getppid(), 9)", REFUSED, id="kill the fork server"),
        pytest.param(
            "open(f'/proc/{os.getppid()}/environ').read()",
            "tried to read or change /proc/",
            id="the fork server's environment",
        ),
        pytest.param(
            "open(f'/proc/{os.getppid()}/mem', 'rb')",
            "tried to read or change /proc/",
            id="the fork server's memory",
        ),
        pytest.param("os.listdir('/')", "tried to read or change /,", id="the root"),
        pytest.param(
            f"os.listdir({str(Path.home())!r})",
            f"tried to read or change {Path.home()},",
            id="the home",
        ),
        pytest.param("open('/etc/passwd')", "tried to read or change /etc/passwd,", id="passwd"),
        pytest.param(
            "open('/tmp/attn-drill-leak', 'w')",
            "tried to read or change /tmp/attn-drill-leak,",
            id="write to /tmp",
        ),
        pytest.param(
            "os.memfd_create('x')",
            REFUSED,
            id="memory outside the limit",
        ),
        pytest.param(
            f"open({str(pack_reader.built_in_pack() / 'solutions/gqa/solution.py')!r})",
            "tried to read or change /",
            id="a solution",
        ),
        pytest.param(
            f"open({str(TINY_PACK / 'solutions/prefix_sum/solution.py')!r})",
            "tried to read or change /",
            id="its own solution",
        ),
        pytest.param(
            f"os.listdir({str(pack_reader.PACKAGE)!r})",
            f"tried to read or change {pack_reader.PACKAGE},",
            id="the engine",
        ),
    ],
)
def test_forbidden_actions_are_refused(grader: Grader, body: str, says: str) -> None:
    """The error names the forbidden action and quotes the system's error. The grader lives on."""
    message = first_failure(grader, body)
    assert re.search(r"\[Errno (1|13|30|38)\]", message), message
    assert f"it {says}" in message
    assert first_failure(grader, "pass") == ""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("open('note.txt', 'w').write('x')", id="its own folder"),
        pytest.param("import tempfile; tempfile.TemporaryFile().write(b'x')", id="tempfile"),
        pytest.param(
            "import threading; t = threading.Thread(target=print); t.start(); t.join()",
            id="a thread",
        ),
        pytest.param(
            "if len(x) == 3:\n"
            "        torch.set_num_threads(2)\n"
            "        torch.randn(300, 300) @ torch.randn(300, 300)",
            id="torch's threads",
        ),
        pytest.param(
            "import json, decimal, fractions, random, itertools, xml.dom.minidom",
            id="the standard library",
        ),
        pytest.param("import numpy.polynomial.chebyshev", id="installed packages"),
        pytest.param(
            "torch.compile(lambda y: y + 1)(x)", id="torch.compile, which compiles nothing here"
        ),
        pytest.param("torch.jit.script(torch.nn.Linear(2, 2))", id="torch.jit"),
        pytest.param(
            "import inspect; assert 'cumsum' in inspect.getsource(prefix_sum)", id="its own source"
        ),
        pytest.param(
            "import numpy as np; np.linalg.svd(np.random.default_rng().random((60, 60)))",
            id="numpy",
        ),
        pytest.param(
            "import numpy as np; m = np.memmap('m', 'f4', 'w+', shape=9); m[:] = 1; "
            "m.flush(); assert np.fromfile('m', 'f4').sum() == 9",
            id="memmap",
        ),
        pytest.param(
            "torch.linalg.eigh(torch.eye(40)); torch.fft.fft(torch.ones(8)); torch.randn(3).sort()",
            id="torch's libraries",
        ),
        pytest.param(
            "if len(x) == 3:\n"
            "        torch.save(x.detach(), 'x.pt'); "
            "assert torch.load('x.pt', mmap=True).equal(x)",
            id="torch.save and torch.load",
        ),
        pytest.param(
            "torch.UntypedStorage.from_file('s', shared=True, nbytes=64).fill_(0)",
            id="a storage in a file",
        ),
        pytest.param(
            "from torch.utils.data import DataLoader; list(DataLoader(range(9), batch_size=3))",
            id="a loader without workers",
        ),
        pytest.param(
            "import copy; copy.deepcopy(torch.nn.LSTM(8, 2, "
            "batch_first=True)).eval()(torch.ones(1, 3, 8))",
            id="layers",
        ),
        pytest.param(
            "from concurrent.futures import ThreadPoolExecutor as E\n"
            "    with E(4) as pool:\n"
            "        assert sum(pool.map(abs, range(-9, 9))) == 81",
            id="a pool",
        ),
        pytest.param(
            "import pathlib as p; f = p.Path('f'); f.touch(); f.touch(); "
            "assert f.exists() and [*p.Path().glob('*')]; f.unlink()",
            id="pathlib",
        ),
        pytest.param(
            "import os, shutil\n    os.makedirs('a/b', exist_ok=True); open('a/b/c', 'w').close()\n"
            "    shutil.copyfile('a/b/c', 'd'); shutil.move('d', 'e'); os.listdir('.'); "
            "shutil.disk_usage('.'); shutil.rmtree('a')",
            id="shutil",
        ),
        pytest.param(
            "import tempfile\n"
            "    with tempfile.TemporaryDirectory() as d, "
            "tempfile.NamedTemporaryFile(dir=d) as f:\n"
            "        f.write(b'x')",
            id="a temporary file that is removed",
        ),
        pytest.param(
            "f = open('f', 'w+b'); f.write(b'x'); f.flush(); os.fsync(f.fileno()); "
            "os.ftruncate(f.fileno(), 0); f.close()",
            id="a file to the disk",
        ),
        pytest.param(
            "import sqlite3\n"
            "    with sqlite3.connect('own.db') as d:\n"
            "        d.execute('create table if not exists t (x)')\n"
            "    d.close()",
            id="sqlite3",
        ),
        pytest.param(
            "import gzip, zipfile; gzip.open('g', 'w').write(b'x'); "
            "zipfile.ZipFile('z', 'w').writestr('x', 'y')",
            id="archives",
        ),
        pytest.param(
            "import mmap; m = mmap.mmap(-1, 1 << 20); m[:2] = b'xy'; m.resize(2 << 20); m.close()",
            id="mmap",
        ),
        pytest.param(
            "import time, datetime; time.sleep(0.001); time.process_time(); "
            "time.thread_time(); time.get_clock_info('time'); datetime.datetime.now()",
            id="time",
        ),
        pytest.param(
            "import locale, decimal, platform, uuid, secrets; locale.getlocale(); "
            "platform.platform(); uuid.uuid4(); secrets.token_hex()",
            id="the machine",
        ),
        pytest.param(
            "import resource; resource.getrlimit(resource.RLIMIT_AS); "
            "resource.getrusage(resource.RUSAGE_SELF); os.times()",
            id="resource",
        ),
        pytest.param(
            "os.cpu_count(); os.sched_getaffinity(0); os.getpid(); os.getuid(); os.uname(); "
            "os.urandom(4); os.getgroups()",
            id="os",
        ),
        pytest.param(
            "import select\n    r, w = os.pipe(); os.set_blocking(r, False); os.write(w, b'x')\n"
            "    assert select.select([r], [], [], 1)[0]; p = select.poll(); p.register(r); "
            "p.poll(1); os.set_inheritable(os.dup(r), True); os.close(r); os.close(w)",
            id="a pipe",
        ),
        pytest.param(
            "import faulthandler, io; faulthandler.dump_traceback(open('t', 'w'))",
            id="faulthandler",
        ),
        pytest.param(
            "import signal, time\n"
            "    signal.signal(signal.SIGALRM, lambda *a: None); "
            "signal.signal(signal.SIGUSR1, lambda *a: None)\n"
            "    signal.setitimer(signal.ITIMER_REAL, 0.001); signal.alarm(0); "
            "signal.raise_signal(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1)\n"
            "    import threading; signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)",
            id="signals to itself",
        ),
        pytest.param(
            "import ctypes; ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 3)()", id="a callback from C"
        ),
        pytest.param(
            "import warnings, logging; logging.basicConfig(filename='log'); "
            "logging.warning('x'); warnings.warn('x')",
            id="logging",
        ),
        pytest.param("import selectors; selectors.DefaultSelector", id="selectors"),
    ],
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
    assert "gain privileges" in run_selftest(HIDDEN, "kernel").open


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
    challenge = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
    with Grader([TINY_PACK], isolation=how) as grader, pytest.raises(GraderError) as caught:
        report_of(grader, challenge, RIGHT.format("pass"), "prefix_sum.py", 7)
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
    report = report_of(
        grader, pack_reader.find_challenge(TINY_PACK, "prefix-sum"), source, "prefix_sum.py", 3
    )
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
    source = RIGHT.format(STARTS_MANY)
    if way == "orphans":
        started = "subprocess.Popen(['sleep', '30'])"
        assert started in source
        source = source.replace(started, "os.system('sleep 30 &')")
    with Grader([TINY_PACK], isolation="limits") as grader:
        case_set = grader.case_set(pack_reader.find_challenge(TINY_PACK, "prefix-sum"), 7)
        workers = grader.workers
        waiting = WorkerRun(workers._fork_server, case_set.request(), workers.limits)
        ended = workers.run(case_set, Submission("a.py", source))
        assert ended.how == "died"
        assert re.search(r"it started \d+ processes; a submission may start none", ended.reason)
        waiting.submit(SubmittedFile("b.py", RIGHT.format("pass")))
        assert workers.finish(waiting).how == "replied"
        pid = workers._fork_server._pid
        wait_until(lambda: list(descendants(pid)) == [])
