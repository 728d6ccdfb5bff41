"""The sentences about actions that the sandbox refused, in reports and from the module itself."""

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


SOURCE = (
    "import os, sys, torch\n"
    "def prefix_sum(x, reverse=False):\n"
    "    {}\n"
    "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
)


needs_kernel = pytest.mark.skipif(
    sys.platform != "linux" or not (isolation._has_landlock() and isolation._has_seccomp()),
    reason="this kernel has no Landlock, or no seccomp",
)


def message_about(grader: Grader, body: str) -> str:
    """Return the report's message about a prefix sum that runs `body` first.

    Skip the test if the workers are not confined by the kernel: other isolations use other words.
    """
    if grader.workers._fork_server.isolation != "kernel":
        pytest.skip(
            f"workers are confined by {grader.workers._fork_server.isolation}, "
            "which uses other words"
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
        pytest.param("os.memfd_create('x')", SOMETHING, id="not announced by Python"),
        pytest.param("os.nice(1)", SOMETHING, id="nice"),
        pytest.param("os.chroot('.')", SOMETHING, id="not announced, with a path of its own"),
        pytest.param(
            "from multiprocessing.shared_memory import SharedMemory; "
            "SharedMemory(create=True, size=9)",
            SOMETHING,
            id="not announced, after imports",
        ),
        pytest.param(
            "import mmap; mmap.mmap(-1, 40 << 30)",
            "the code requested more memory than the limit allows",
            id="a mapping",
        ),
    ],
)
def test_each_refused_action_has_its_sentence(grader: Grader, body: str, says: str) -> None:
    """The report names the action that was refused."""
    assert says in message_about(grader, body)


@needs_kernel
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(
            "import tempfile\n    with tempfile.TemporaryDirectory():\n        open('/etc/passwd')",
            "it tried to read /etc/passwd, which",
            id="its folder is removed afterwards",
        ),
        pytest.param(
            "try:\n        os.fork()\n    finally:\n        open('note.txt', 'w').close()",
            "it tried to start a process, which",
            id="it writes a file afterwards",
        ),
        pytest.param(
            "try:\n"
            "        os.mkdir('/tmp/attn-drill-no')\n"
            "    except OSError as error:\n"
            "        os.makedirs('here', exist_ok=True)\n"
            "        raise error",
            "it tried to change /tmp/attn-drill-no, outside",
            id="the error is raised again later",
        ),
        pytest.param(
            "os.listdir('.')\n    os.chdir('/')\n    open('etc/passwd')",
            "it tried to read etc/passwd, which",
            id="an earlier action succeeded",
        ),
        pytest.param(
            "try:\n        os.fork()\n    except OSError:\n        raise ValueError('no workers')",
            "ValueError: it tried to start a process, .* \\(no workers\\)",
            id="another error with the refusal as context",
        ),
    ],
)
def test_only_the_refused_action_is_named(grader: Grader, body: str, says: str) -> None:
    """Actions that succeeded before or after the refused action are not named."""
    assert re.search(says, message_about(grader, body))


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
            "[open(f'{n}', 'wb').write(bytes(8 << 20)) for n in range(9)]\n"
            "    import time; time.sleep(9)",
            "it wrote more than the 64 MiB",
            id="many files",
        ),
    ],
)
def test_too_much_written_has_its_sentence(grader: Grader, body: str, says: str) -> None:
    """The report says how much a submission may write, instead of an error number."""
    assert says in message_about(grader, body)


@needs_kernel
def test_too_many_empty_files_are_not_called_too_large(grader: Grader) -> None:
    """The message about many empty files mentions files and not only megabytes."""
    text = message_about(
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
def test_other_errors_get_no_sentence(grader: Grader, body: str) -> None:
    """An error that is not a refusal of the system keeps its own message."""
    failure = report_of(grader, SUMS, SOURCE.format(body), "prefix_sum.py", 3).first_failure()
    assert failure is not None
    assert "submission may not" not in failure.message


def sentence(*actions: tuple[str, tuple[object, ...]], error: BaseException) -> str:
    """Return the sentence about an error after Python has announced the actions in this order.

    A new thread is used, because nothing has been announced in it before.
    """
    found: list[str] = []

    def announce() -> None:
        for event, arguments in actions:
            refusals._note(event, arguments)
        found.append(refusals.sentence(error))

    thread = threading.Thread(target=announce)
    thread.start()
    thread.join()
    return found[0]


def refusal(filename: str | None = None, number: int = errno.EPERM) -> OSError:
    """Return an error as the system raises it."""
    return (
        OSError(number, os.strerror(number))
        if filename is None
        else OSError(number, os.strerror(number), filename)
    )


@pytest.mark.parametrize(
    ("action", "error", "says"),
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
            id="opened by a descriptor, which succeeded",
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
        pytest.param(("os.fork", ()), ValueError("x"), "", id="another kind of error"),
        pytest.param(
            ("import", ("x", None, None)),
            refusal(),
            "it tried something that a submission may not do",
            id="nothing was announced",
        ),
    ],
)
def test_sentence_about_one_action(
    action: tuple[str, tuple[object, ...]], error: BaseException, says: str
) -> None:
    """The last announced action and the error decide on the sentence."""
    found = sentence(action, error=error)
    assert found.startswith(says) if says else found == ""


FORK = ("os.fork", ())


def test_the_refusal_may_be_a_cause_of_the_error() -> None:
    """The refusal is found as the cause of a cause, and as the context of an error."""
    outer, inner, innermost = RuntimeError("outer"), KeyError("inner"), refusal()
    outer.__cause__, inner.__context__ = inner, innermost
    assert sentence(FORK, error=outer).startswith("it tried to start a process")


def test_a_circle_of_causes_ends() -> None:
    """Only the first few causes are looked at. A refusal behind many causes is not found."""
    first, second = RuntimeError("first"), RuntimeError("second")
    first.__cause__, second.__cause__ = second, first
    assert sentence(FORK, error=first) == ""
    chain: BaseException = refusal()
    for depth in range(50):
        above = RuntimeError(str(depth))
        above.__cause__, chain = chain, above
    assert sentence(FORK, error=chain) == ""


def test_actions_of_another_thread_do_not_count() -> None:
    """An action that one thread announced does not explain an error in another thread."""
    sentence(("socket.__new__", ()), error=refusal())
    assert sentence(error=refusal()) == SOMETHING


def test_an_action_on_another_path_is_not_named() -> None:
    """If the refusal names another path than the last action, this action succeeded."""
    assert "note.txt" not in sentence(
        ("open", ("/own/note.txt", "w", 0)), error=refusal("/elsewhere")
    )


def test_an_earlier_action_on_the_refused_path_is_named() -> None:
    """Actions on other paths that were announced later do not matter."""
    actions = [
        ("open", ("/elsewhere", "r", 0)),
        ("open", ("/own/note.txt", "w", 0)),
        ("os.rmdir", ("/own/folder", -1)),
    ]
    assert sentence(*actions, error=refusal("/elsewhere")).startswith(
        "it tried to read /elsewhere, which"
    )
