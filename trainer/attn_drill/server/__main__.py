"""Start a grading server: `python -m attn_drill.server`, requests on stdin, replies on stdout.

A fork copies all memory: the environment, the arguments, and everything that Python has read. So
this process has no arguments and a short environment. It imports torch and forks the fork server,
and only then reads its first message, which tells it whom it serves.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys

from attn_drill.sandbox.environment import ONE_THREAD


def main() -> None:
    """Fork the fork server, then serve on stdin and stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client handles Ctrl-C, then closes stdin
    os.environ.update(ONE_THREAD)
    gc.disable()  # a collection would visit every object that the import of torch makes
    try:
        from attn_drill.worker import forkserver_client  # noqa: PLC0415  # imports torch
    except ImportError as error:
        sys.exit(
            f"torch cannot be imported: {error}. Install attn-drill again; "
            "the README has the command."
        )
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)  # so that a print cannot damage the replies
    forkserver_client.prepare()
    gc.enable()
    from attn_drill.server.messages import Hello, read_message, unpacked_request  # noqa: PLC0415

    body = read_message(requests)
    hello = None if body is None else unpacked_request(body)
    if not isinstance(hello, Hello):
        return  # the client has ended
    os.environ.clear()
    os.environ.update(hello.environment)
    os.environ.update(ONE_THREAD)
    sys.path[:] = hello.path
    importlib.import_module("attn_drill.server._server").run(hello, requests, replies)
    sys.stderr.flush()
    os._exit(0)  # to tear torch down would take 0.3 s, and the client waits


if __name__ == "__main__":
    main()
