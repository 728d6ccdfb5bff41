"""What a learner reads where the system refused: which deed it was, not "Operation not permitted" alone."""

import errno
import os
import re
import sys
import threading
from pathlib import Path

import pytest

from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from trainer.grading.grader import Grader
from trainer.packs import pack_reader
from trainer.sandbox import isolation, refusals

SUMS = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


SOURCE = "import os, sys, torch\ndef prefix_sum(x, reverse=False):\n    {}\n    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"


needs_kernel = pytest.mark.skipif(
    sys.platform != "linux" or not (isolation._has_landlock() and isolation._has_seccomp()),
    reason="this kernel has no Landlock, or no seccomp",
)


def said(grader: Grader, body: str) -> str:
    """What the report says of a prefix sum that does this first; the grader's workers must be confined by the kernel."""
    if grader.workers._fork_server.isolation != "kernel":
        pytest.skip(
            f"workers are confined by {grader.workers._fork_server.isolation} here, which refuses in other words"
        )
    failure = report_of(grader, SUMS, SOURCE.format(body), "prefix_sum.py", 3).first_failure()
    assert failure is not None
    return failure.message


NETWORK = "it tried to open a network socket, which"


PROCESS = "it tried to start a process, which"


SIGNAL = "it tried to signal a process, which"


SOMETHING = "it tried something that a submission may not do"


@needs_kernel
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(
            "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            NETWORK,
            id="datagrams",
        ),
        pytest.param(
            "import socket; socket.create_server(('127.0.0.1', 0))", NETWORK, id="a server"
        ),
        pytest.param(
            "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')",
            NETWORK,
            id="a page, by a library that wraps the error",
        ),
        pytest.param(
            "import http.client; http.client.HTTPConnection('127.0.0.1', 9).connect()",
            NETWORK,
            id="a connection",
        ),
        pytest.param("os.fork()", PROCESS, id="fork"),
        pytest.param("os.posix_spawn('/bin/true', ['true'], {})", PROCESS, id="posix_spawn"),
        pytest.param("os.spawnv(os.P_WAIT, '/bin/true', ['true'])", PROCESS, id="spawn"),
        pytest.param("os.execv('/bin/true', ['true'])", PROCESS, id="exec"),
        pytest.param(
            "import subprocess; subprocess.run('true', shell=True)", PROCESS, id="a shell"
        ),
        pytest.param(
            "import multiprocessing as m; m.Process(target=print).start()",
            PROCESS,
            id="multiprocessing",
        ),
        pytest.param("os.kill(os.getppid(), 0)", SIGNAL, id="kill"),
        pytest.param("os.killpg(0, 0)", SIGNAL, id="kill a group"),
        pytest.param(
            "import resource; resource.prlimit(0, resource.RLIMIT_NOFILE, (9999, 9999))",
            "it tried to change its own limits, which",
            id="prlimit",
        ),
        pytest.param(
            "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (9999, 9999))",
            "it tried to change its own limits, which",
            id="setrlimit",
        ),
        pytest.param("os.listdir('/')", "it tried to list the folder /, which", id="listdir"),
        pytest.param(
            "list(os.scandir('/etc'))", "it tried to list the folder /etc, which", id="scandir"
        ),
        pytest.param("open('/etc/passwd')", "it tried to read /etc/passwd, which", id="open"),
        pytest.param(
            "os.open('/etc/passwd', os.O_RDONLY)",
            "it tried to read /etc/passwd, which",
            id="os.open",
        ),
        pytest.param(
            "import pathlib; pathlib.Path('/etc/passwd').read_bytes()",
            "it tried to read /etc/passwd, which",
            id="pathlib",
        ),
        pytest.param(
            "open('/tmp/attn-drill-no', 'w')",
            "it tried to write to /tmp/attn-drill-no, outside its own folder, which",
            id="open to write",
        ),
        pytest.param(
            "open('/tmp/attn-drill-no', 'x')",
            "it tried to write to /tmp/attn-drill-no, outside its own folder, which",
            id="open to make",
        ),
        pytest.param(
            "os.open('/tmp/attn-drill-no', os.O_CREAT)",
            "it tried to write to /tmp/attn-drill-no, outside its own folder, which",
            id="os.open to make",
        ),
        pytest.param(
            "open(torch.__file__, 'r+')",
            "__init__.py, outside its own folder, which",
            id="open to change",
        ),
        pytest.param(
            "os.mkdir('/tmp/attn-drill-no')",
            "it tried to change /tmp/attn-drill-no, outside its own folder, which",
            id="mkdir",
        ),
        pytest.param(
            "os.truncate('/etc/hostname', 0)",
            "it tried to change /etc/hostname, outside its own folder, which",
            id="truncate",
        ),
        pytest.param("os.remove(os.__file__)", "os.py, outside its own folder, which", id="remove"),
        pytest.param(
            "os.symlink('/etc/passwd', '/tmp/attn-drill-no')",
            "it tried to change /tmp/attn-drill-no, outside its own folder",
            id="a link, by its own name",
        ),
        pytest.param(
            "os.chmod('.', 0o700)", "it tried to change the attributes of ., which", id="chmod"
        ),
        pytest.param(
            "os.chown('.', 0, 0)", "it tried to change the attributes of ., which", id="chown"
        ),
        pytest.param("os.memfd_create('x')", SOMETHING, id="what Python does not announce"),
        pytest.param("os.nice(1)", SOMETHING, id="nice"),
        pytest.param("os.chroot('.')", SOMETHING, id="not announced, with a path of its own"),
        pytest.param(
            "from multiprocessing.shared_memory import SharedMemory; SharedMemory(create=True, size=9)",
            SOMETHING,
            id="not announced, after imports",
        ),
        pytest.param(
            "import mmap; mmap.mmap(-1, 40 << 30)",
            "more memory was asked for than the limit allows",
            id="a mapping",
        ),
    ],
)
def test_deeds_in_words(grader: Grader, body: str, says: str) -> None:
    """Each deed has its sentence, and the system's own words stand behind it."""
    assert says in said(grader, body)


@needs_kernel
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(
            "import tempfile\n    with tempfile.TemporaryDirectory():\n        open('/etc/passwd')",
            "it tried to read /etc/passwd, which",
            id="its folder is cleared up after",
        ),
        pytest.param(
            "try:\n        os.fork()\n    finally:\n        open('note.txt', 'w').close()",
            "it tried to start a process, which",
            id="it writes a note after",
        ),
        pytest.param(
            "try:\n        os.mkdir('/tmp/attn-drill-no')\n    except OSError as error:\n        os.makedirs('here', exist_ok=True)\n        raise error",
            "it tried to change /tmp/attn-drill-no, outside",
            id="it is raised again later",
        ),
        pytest.param(
            "os.listdir('.')\n    os.chdir('/')\n    open('etc/passwd')",
            "it tried to read etc/passwd, which",
            id="something went well before",
        ),
        pytest.param(
            "try:\n        os.fork()\n    except OSError:\n        raise ValueError('no workers')",
            "ValueError: it tried to start a process, .* \\(no workers\\)",
            id="another error of it",
        ),
    ],
)
def test_the_deed_that_was_refused(grader: Grader, body: str, says: str) -> None:
    """What was done well before or after is not taken for it."""
    assert re.search(says, said(grader, body))


@needs_kernel
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(
            "open('f', 'wb').write(bytes(17 << 20))",
            "it wrote a file of more than the 16 MiB that a submission may write",
            id="one file",
        ),
        pytest.param(
            "os.truncate(__file__, 1 << 40)",
            "it wrote a file of more than the 16 MiB that a submission may write",
            id="a sparse file",
        ),
        pytest.param(
            "[open(f'{n}', 'wb').write(bytes(8 << 20)) for n in range(9)]\n    import time; time.sleep(9)",
            "it wrote more than the 64 MiB",
            id="many files",
        ),
    ],
)
def test_too_much_in_words(grader: Grader, body: str, says: str) -> None:
    """A full folder is not an error number."""
    assert says in said(grader, body)


@needs_kernel
def test_many_small_files_are_no_megabytes(grader: Grader) -> None:
    """Of files without a byte in them it is not said that they were too long."""
    text = said(
        grader, "[open(f'{n}', 'w').close() for n in range(20_000)]\n    import time; time.sleep(9)"
    )
    assert "files" in text or "MiB" not in text, text


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("raise PermissionError('of my own')", id="a refusal without a number"),
        pytest.param("open('nowhere')", id="a missing file"),
        pytest.param("int('x')", id="no refusal"),
        pytest.param("import socket; socket.inet_aton('x')", id="an error of a module that could"),
    ],
)
def test_other_errors_are_left_alone(grader: Grader, body: str) -> None:
    """Nothing is said of what the system did not refuse."""
    failure = report_of(grader, SUMS, SOURCE.format(body), "prefix_sum.py", 3).first_failure()
    assert failure is not None
    assert "submission may not" not in failure.message


def sentence(*deeds: tuple[str, tuple[object, ...]], error: BaseException) -> str:
    """What is said of an error after Python has announced these, the last one last; in a thread, which has announced nothing else."""
    found: list[str] = []

    def go() -> None:
        for event, arguments in deeds:
            refusals._note(event, arguments)
        found.append(refusals.sentence(error))

    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    return found[0]


def refusal(filename: str | None = None, number: int = errno.EPERM) -> OSError:
    """The system's."""
    return (
        OSError(number, os.strerror(number))
        if filename is None
        else OSError(number, os.strerror(number), filename)
    )


@pytest.mark.parametrize(
    ("deed", "error", "says"),
    [
        pytest.param(
            ("socket.__new__", (None, 2, 1, 0)),
            refusal(),
            "it tried to open a network socket, which a submission may not do",
            id="EPERM",
        ),
        pytest.param(
            ("os.fork", ()),
            refusal(number=errno.EACCES),
            "it tried to start a process, which a submission may not do",
            id="EACCES",
        ),
        pytest.param(
            ("open", ("/a", "r", 0)),
            refusal("/a"),
            "it tried to read /a, which a submission may not do",
            id="read",
        ),
        pytest.param(
            ("open", (b"/a", "rb", 0)),
            refusal("/a"),
            "it tried to read /a, which a submission may not do",
            id="a path of bytes",
        ),
        pytest.param(
            ("open", (Path("/a"), "a", 0)),
            refusal("/a"),
            "it tried to write to /a, outside its own folder, which a submission may not do",
            id="append",
        ),
        pytest.param(
            ("open", ("/a", None, os.O_RDWR)),
            refusal("/a"),
            "it tried to write to /a, outside its own folder, which a submission may not do",
            id="by flags",
        ),
        pytest.param(
            ("open", (7, "r", 0)),
            refusal(),
            "it tried something that a submission may not do",
            id="opened by a number, which went well",
        ),
        pytest.param(
            ("os.fork", ()),
            refusal(number=errno.ENOSYS),
            "it tried to start a process, which a submission may not do",
            id="ENOSYS",
        ),
        pytest.param(
            ("open", ("/a", "w", 0)),
            refusal("/a", errno.EROFS),
            "it tried to write to /a, outside its own folder, which",
            id="EROFS",
        ),
        pytest.param(("os.fork", ()), refusal(number=errno.ENOENT), "", id="another error"),
        pytest.param(
            ("os.fork", ()),
            refusal(number=errno.ENOSPC),
            "it wrote more than the 64 MiB",
            id="a full folder",
        ),
        pytest.param(
            ("os.fork", ()),
            refusal("x", errno.EFBIG),
            "it wrote a file of more than the 16 MiB",
            id="a long file",
        ),
        pytest.param(("os.fork", ()), ValueError("x"), "", id="no refusal at all"),
        pytest.param(
            ("import", ("x", None, None)),
            refusal(),
            "it tried something that a submission may not do",
            id="nothing was announced",
        ),
    ],
)
def test_sentence(deed: tuple[str, tuple[object, ...]], error: BaseException, says: str) -> None:
    """One deed, one error, one sentence."""
    found = sentence(deed, error=error)
    assert found.startswith(says) if says else found == ""


FORK = ("os.fork", ())


def test_a_sentence_of_the_cause() -> None:
    """The refusal may be the cause of what is raised, or of its cause, or what was being handled."""
    outer, inner, innermost = RuntimeError("outer"), KeyError("inner"), refusal()
    outer.__cause__, inner.__context__ = inner, innermost
    assert sentence(FORK, error=outer).startswith("it tried to start a process")


def test_causes_in_a_circle_come_to_an_end() -> None:
    """Two exceptions that are each other's cause are looked at a few times; one that is too far down is not found."""
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert sentence(FORK, error=one) == ""
    chain: BaseException = refusal()
    for number in range(50):
        above = RuntimeError(str(number))
        above.__cause__, chain = chain, above
    assert sentence(FORK, error=chain) == ""


def test_deeds_of_another_thread_are_not_this_ones() -> None:
    """What one thread is about to do says nothing of an error in another."""
    sentence(("socket.__new__", ()), error=refusal())
    assert sentence(error=refusal()) == SOMETHING


def test_a_path_that_no_refusal_names_is_not_blamed() -> None:
    """The refusal is of another path than the last one that was announced: that one went well."""
    assert "note.txt" not in sentence(
        ("open", ("/own/note.txt", "w", 0)), error=refusal("/elsewhere")
    )


def test_the_path_that_the_refusal_names_is() -> None:
    """However many others were announced since."""
    deeds = [
        ("open", ("/elsewhere", "r", 0)),
        ("open", ("/own/note.txt", "w", 0)),
        ("os.rmdir", ("/own/folder", -1)),
    ]
    assert sentence(*deeds, error=refusal("/elsewhere")).startswith(
        "it tried to read /elsewhere, which"
    )
