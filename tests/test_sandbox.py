"""What a submission cannot reach, tried by a submission, and whether `doctor` tells the truth about it."""

import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from trainer.grading.grader import Grader
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.sandbox import confine, isolation
from trainer.sandbox.isolation import Isolation, chosen_isolation
from trainer.worker.selftest import COPIES, Isolated, probe_isolation

linux = pytest.mark.skipif(
    sys.platform != "linux",
    reason="Landlock and seccomp are Linux's; elsewhere `doctor` says that isolation is limited",
)

RIGHT = "import os, sys, torch\ndef prefix_sum(x, reverse=False):\n    {}\n    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"


def first_failure(grader: Grader, body: str) -> str:
    """What is said of a prefix sum that does this first, '' if it passes."""
    report = report_of(
        grader,
        pack_reader.find_challenge(TINY_PACK, "prefix-sum"),
        RIGHT.format(body),
        "prefix_sum.py",
        3,
    )
    failure = report.first_failure()
    return "" if failure is None else failure.message


@linux
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(
            "import socket; socket.socket()", "tried to open a network socket", id="socket"
        ),
        pytest.param(
            "import socket; socket.socketpair()",
            "tried something that a submission may not do",
            id="socketpair",
        ),
        pytest.param("os.fork()", "tried to start a process", id="fork"),
        pytest.param(
            "import subprocess; subprocess.run(['true'])",
            "tried to start a process",
            id="subprocess",
        ),
        pytest.param("os.execv('/bin/true', ['true'])", "tried to start a process", id="exec"),
        pytest.param(
            "import multiprocessing as m; p = m.Process(target=print); p.start()",
            "tried to start a process",
            id="multiprocessing",
        ),
        pytest.param(
            "os.kill(os.getppid(), 9)", "tried to signal a process", id="kill the fork server"
        ),
        pytest.param(
            "open(f'/proc/{os.getppid()}/environ').read()",
            "tried to read /proc/",
            id="the fork server's environment",
        ),
        pytest.param(
            "open(f'/proc/{os.getppid()}/mem', 'rb')",
            "tried to read /proc/",
            id="the fork server's memory",
        ),
        pytest.param("os.listdir('/')", "tried to list the folder /,", id="the root"),
        pytest.param(
            f"os.listdir({str(Path.home())!r})",
            f"tried to list the folder {Path.home()}",
            id="the home",
        ),
        pytest.param("open('/etc/passwd')", "tried to read /etc/passwd", id="passwd"),
        pytest.param(
            "open('/tmp/attn-drill-leak', 'w')",
            "tried to write to /tmp/attn-drill-leak, outside its own folder",
            id="write to /tmp",
        ),
        pytest.param(
            "os.memfd_create('x')",
            "tried something that a submission may not do",
            id="memory outside the limit",
        ),
        pytest.param(
            f"open({str(pack_reader.built_in_pack() / 'solutions/gqa/solution.py')!r})",
            "tried to read ",
            id="a solution",
        ),
        pytest.param(
            f"open({str(TINY_PACK / 'solutions/prefix_sum/solution.py')!r})",
            "tried to read ",
            id="its own solution",
        ),
        pytest.param(
            f"os.listdir({str(pack_reader.TRAINER)!r})",
            f"tried to list the folder {pack_reader.TRAINER}",
            id="the engine",
        ),
    ],
)
def test_denied(grader: Grader, body: str, says: str) -> None:
    """Each is refused with an error that says what was tried; the grader lives on."""
    said = first_failure(grader, body)
    assert re.search(r"\[Errno (1|13|30|38)\]", said), (
        said
    )  # the system's own words stand behind it
    assert f"it {says}" in said
    assert first_failure(grader, "pass") == ""


@pytest.mark.sampled(2)
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
            "if len(x) == 3:\n        torch.set_num_threads(2)\n        torch.randn(300, 300) @ torch.randn(300, 300)",
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
            "import numpy as np; m = np.memmap('m', 'f4', 'w+', shape=9); m[:] = 1; m.flush(); assert np.fromfile('m', 'f4').sum() == 9",
            id="memmap",
        ),
        pytest.param(
            "torch.linalg.eigh(torch.eye(40)); torch.fft.fft(torch.ones(8)); torch.randn(3).sort()",
            id="torch's libraries",
        ),
        pytest.param(
            "if len(x) == 3:\n        torch.save(x.detach(), 'x.pt'); assert torch.load('x.pt', mmap=True).equal(x)",
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
            "import copy; copy.deepcopy(torch.nn.LSTM(8, 2, batch_first=True)).eval()(torch.ones(1, 3, 8))",
            id="layers",
        ),
        pytest.param(
            "from concurrent.futures import ThreadPoolExecutor as E\n    with E(4) as pool:\n        assert sum(pool.map(abs, range(-9, 9))) == 81",
            id="a pool",
        ),
        pytest.param(
            "import pathlib as p; f = p.Path('f'); f.touch(); f.touch(); assert f.exists() and [*p.Path().glob('*')]; f.unlink()",
            id="pathlib",
        ),
        pytest.param(
            "import os, shutil\n    os.makedirs('a/b', exist_ok=True); open('a/b/c', 'w').close()\n"
            "    shutil.copyfile('a/b/c', 'd'); shutil.move('d', 'e'); os.listdir('.'); shutil.disk_usage('.'); shutil.rmtree('a')",
            id="shutil",
        ),
        pytest.param(
            "import tempfile\n    with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as f:\n        f.write(b'x')",
            id="tempfile that goes",
        ),
        pytest.param(
            "f = open('f', 'w+b'); f.write(b'x'); f.flush(); os.fsync(f.fileno()); os.ftruncate(f.fileno(), 0); f.close()",
            id="a file to the disk",
        ),
        pytest.param(
            "import sqlite3\n    with sqlite3.connect('own.db') as d:\n        d.execute('create table if not exists t (x)')\n    d.close()",
            id="sqlite3",
        ),
        pytest.param(
            "import gzip, zipfile; gzip.open('g', 'w').write(b'x'); zipfile.ZipFile('z', 'w').writestr('x', 'y')",
            id="archives",
        ),
        pytest.param(
            "import mmap; m = mmap.mmap(-1, 1 << 20); m[:2] = b'xy'; m.resize(2 << 20); m.close()",
            id="mmap",
        ),
        pytest.param(
            "import time, datetime; time.sleep(0.001); time.process_time(); time.thread_time(); time.get_clock_info('time'); datetime.datetime.now()",
            id="time",
        ),
        pytest.param(
            "import locale, decimal, platform, uuid, secrets; locale.getlocale(); platform.platform(); uuid.uuid4(); secrets.token_hex()",
            id="the machine",
        ),
        pytest.param(
            "import resource; resource.getrlimit(resource.RLIMIT_AS); resource.getrusage(resource.RUSAGE_SELF); os.times()",
            id="resource",
        ),
        pytest.param(
            "os.cpu_count(); os.sched_getaffinity(0); os.getpid(); os.getuid(); os.uname(); os.urandom(4); os.getgroups()",
            id="os",
        ),
        pytest.param(
            "import select\n    r, w = os.pipe(); os.set_blocking(r, False); os.write(w, b'x')\n"
            "    assert select.select([r], [], [], 1)[0]; p = select.poll(); p.register(r); p.poll(1); os.set_inheritable(os.dup(r), True); os.close(r); os.close(w)",
            id="a pipe",
        ),
        pytest.param(
            "import faulthandler, io; faulthandler.dump_traceback(open('t', 'w'))",
            id="faulthandler",
        ),
        pytest.param(
            "import signal, time\n    signal.signal(signal.SIGALRM, lambda *a: None); signal.signal(signal.SIGUSR1, lambda *a: None)\n"
            "    signal.setitimer(signal.ITIMER_REAL, 0.001); signal.alarm(0); signal.raise_signal(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1)\n"
            "    import threading; signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)",
            id="signals to itself",
        ),
        pytest.param(
            "import ctypes; ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 3)()", id="a callback from C"
        ),
        pytest.param(
            "import warnings, logging; logging.basicConfig(filename='log'); logging.warning('x'); warnings.warn('x')",
            id="logging",
        ),
        pytest.param("import selectors; selectors.DefaultSelector", id="selectors"),
    ],
)
def test_allowed(grader: Grader, body: str) -> None:
    """What honest code does still works."""
    assert first_failure(grader, body) == ""


HIDDEN = [
    pack_reader.TRAINER,
    pack_reader.built_in_pack() / "challenges",
    pack_reader.built_in_pack() / "solutions",
]
# Nothing but a sandbox keeps a submission from these.
ONLY_BY_SANDBOX = {
    *(
        "open a network socket",
        "read the solutions",
        "read the engine",
        "read the home folder",
        "read another submission",
    ),
    *("start a process", "see the grader", "signal the grader", "get round the memory limit"),
    *("use shared memory of the system", COPIES),
}
# Whether these are open without one depends on the user, on what this user may mount, and on how
# new the kernel is.
DEPENDS_ON_THE_USER = {
    *(
        "trace the grader",
        "read the grader's memory",
        "raise its own limits",
        "gain privileges",
        "hold a lease on a file",
    ),
    *(
        "write outside its own folder",
        "change attributes of another's file",
        "use an unknown system call",
    ),
}
needs_bubblewrap = pytest.mark.skipif(
    not isolation.bubblewrap_works(),
    reason="bubblewrap is not installed here, or this user may not start it",
)
needs_kernel = pytest.mark.skipif(
    sys.platform != "linux" or not (isolation._has_landlock() and isolation._has_seccomp()),
    reason="this kernel has no Landlock, or no seccomp",
)
EACH = [
    pytest.param("kernel", marks=needs_kernel),
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    pytest.param("limits", marks=linux),
]


@cache
def probed(how: Isolation) -> Isolated:
    """What holds by these means, tried once."""
    return probe_isolation(HIDDEN, how)


@pytest.mark.parametrize("how", EACH)
def test_probes_tell_the_truth(how: Isolation) -> None:
    """With a sandbox nothing is open; with limits alone, all that limits do not hold, and no more."""
    found = probed(how)
    assert found.how == how
    if how != "limits":
        assert found.open == []
        return
    assert set(found.open) >= ONLY_BY_SANDBOX
    assert set(found.open) <= ONLY_BY_SANDBOX | DEPENDS_ON_THE_USER
    assert {what for what in found.held if what not in found.open} >= {
        "outlive its time",
        "fill the disk",
        "start threads without end",
    }


@pytest.mark.parametrize("how", EACH)
def test_what_must_work_does(how: Isolation) -> None:
    """torch's threads and a folder to write to, by whichever means a worker is shut off."""
    assert probed(how).works == {"threads that torch needs": True, "a folder of its own": True}


@pytest.mark.parametrize("how", EACH)
def test_the_same_is_tried_by_all_means(how: Isolation) -> None:
    """No means is spared a question."""
    assert set(probed(how).held) == ONLY_BY_SANDBOX | DEPENDS_ON_THE_USER | {
        "outlive its time",
        "fill the disk",
        "start threads without end",
    }


def only_readable(hidden: object) -> list[str]:
    """As if nothing were hidden."""
    return ["/"]


OUTSIDE = {"write outside its own folder", "change attributes of another's file"}


@needs_kernel
@pytest.mark.parametrize(
    ("parts", "opened"),
    [
        pytest.param(
            ["Landlock.restrict"],
            {"read the solutions", "read another submission", "see the grader"},
            id="Landlock",
        ),
        pytest.param(
            ["Landlock.restrict", "_mount_apart"],
            {"write outside its own folder"},
            id="Landlock and mounts",
        ),
        pytest.param(
            ["_seccomp"],
            {"open a network socket", "start a process", "use shared memory of the system"},
            id="seccomp",
        ),
        pytest.param(
            ["_seccomp", "_mount_apart"],
            {"change attributes of another's file", "use an unknown system call"},
            id="seccomp and mounts",
        ),
        pytest.param(
            ["readable_paths"],
            {"read the solutions", "read the engine", "read another submission", COPIES},
            id="what is hidden",
        ),
    ],
)
def test_a_part_that_is_missing_shows(
    monkeypatch: pytest.MonkeyPatch, parts: list[str], opened: set[str]
) -> None:
    """Take a part of the sandbox away, and the probes say what is open then."""
    instead: dict[str, Callable[..., object]] = {
        "readable_paths": only_readable,
        "_mount_apart": lambda parent: False,
    }
    for part in parts:
        module = isolation if part == "_mount_apart" else confine
        monkeypatch.setattr(f"{module.__name__}.{part}", instead.get(part, lambda *given: None))
    assert opened <= set(probe_isolation(HIDDEN, "kernel").open)


@needs_kernel
@pytest.mark.parametrize("part", ["Landlock.restrict", "_seccomp"])
def test_what_lies_outside_is_held_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: str
) -> None:
    """Nothing outside can be changed though Landlock, or seccomp, is missing."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if isolation._mount_apart(str(tmp_path)) else 1)
    if os.waitpid(pid, 0)[1] != 0:
        pytest.skip("this user may not mount, not even in a namespace of its own")
    monkeypatch.setattr(f"{confine.__name__}.{part}", lambda *given: None)
    assert OUTSIDE.isdisjoint(probe_isolation(HIDDEN, "kernel").open)


@needs_kernel
@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0,
    reason="a user without capabilities has none to keep",
)
def test_capabilities_that_are_kept_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of root's that keeps its capabilities is found out."""
    monkeypatch.setattr(confine, "_drop_capabilities", lambda: None)
    assert "gain privileges" in probe_isolation(HIDDEN, "kernel").open


@pytest.mark.parametrize("how", ["kernel", "bubblewrap", "limits"])
def test_isolation_is_chosen_by_a_variable(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """ATTN_DRILL_ISOLATION names one of the three."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", how)
    assert chosen_isolation() == how


@pytest.mark.parametrize("wrong", ["docker", "Kernel", "kernel ", "none"])
def test_a_wrong_choice_is_an_error(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """Any other value is refused with both: what it is and what it can be."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", wrong)
    with pytest.raises(
        DrillError,
        match=f"ATTN_DRILL_ISOLATION is '{wrong}'; it can be kernel, bubblewrap, limits, or unset",
    ):
        chosen_isolation()


@linux
@pytest.mark.parametrize(
    ("landlock", "seccomp", "bubblewrap", "chosen"),
    [
        (True, True, True, "kernel"),
        (True, False, True, "bubblewrap"),
        (False, True, True, "bubblewrap"),
        (False, False, True, "bubblewrap"),
    ],
)
def test_the_best_there_is_is_chosen(
    monkeypatch: pytest.MonkeyPatch, landlock: bool, seccomp: bool, bubblewrap: bool, chosen: str
) -> None:
    """Landlock and seccomp together, or else bubblewrap."""
    monkeypatch.delenv("ATTN_DRILL_ISOLATION", raising=False)
    for name, has in (
        ("_has_landlock", landlock),
        ("_has_seccomp", seccomp),
        ("bubblewrap_works", bubblewrap),
    ):
        monkeypatch.setattr(isolation, name, lambda has=has: has)
    assert chosen_isolation() == chosen


def test_elsewhere_there_are_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system that is no Linux nothing is tried."""
    monkeypatch.delenv("ATTN_DRILL_ISOLATION", raising=False)
    monkeypatch.setattr(isolation.sys, "platform", "darwin")
    assert chosen_isolation() == "limits"


@pytest.mark.parametrize(
    ("readable", "room", "around"),
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
def test_the_room_is_left_out_of_what_is_around(readable: str, room: str, around: str) -> None:
    """A worker's own layer holds all that is readable, and no other worker's folder unless the room itself is readable."""
    assert confine._before_the_ways_part(readable, room) == around


@needs_kernel
def test_nothing_runs_without_a_layer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the kernel makes the rules of all workers but none for this worker, its file is not run."""
    made, new = list[int](), confine._new_ruleset

    def only_the_first() -> int:
        made.append(1)
        return new() if len(made) == 1 else -1

    monkeypatch.setattr(confine, "_new_ruleset", only_the_first)
    source = "print('it ran')\n\n\ndef prefix_sum(x, reverse=False):\n    return x\n"
    with Grader([TINY_PACK], isolation="kernel") as grader:
        report = report_of(
            grader, pack_reader.find_challenge(TINY_PACK, "prefix-sum"), source, "prefix_sum.py", 7
        )
    assert report.verdict == "error"
    assert "it ran" not in report.stdout
