# Leaves its folder upwards, and makes, renames and links files there.
# of: prefix-sum
# family: writes outside
# verdict: error
# says: PermissionError: it tried to read or change /tmp/attn-drill|Read-only
# without: not run, it writes outside its folder
# must not exist: /tmp/attn-drill-escaped
import os


def prefix_sum(x, reverse=False):
    trouble = None
    os.chdir("/")
    here = os.path.dirname(__file__)
    for deed in (
        lambda: os.mkdir("/tmp/attn-drill-escaped"),
        lambda: os.rename(__file__, "/tmp/attn-drill-escaped"),
        lambda: os.link(__file__, "/tmp/attn-drill-escaped"),
        lambda: os.symlink(here, "/tmp/attn-drill-escaped"),
        lambda: os.mkfifo("/tmp/attn-drill-escaped"),
        lambda: os.open("..", os.O_TMPFILE | os.O_RDWR),
        lambda: os.rename(here, here + "-escaped"),
        lambda: os.rmdir(here),
    ):
        try:
            deed()
            raise SystemExit("that went well")
        except OSError as error:
            trouble = trouble or error
    raise trouble
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
