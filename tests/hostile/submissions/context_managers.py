# Right; runs in context managers that clear names, hide output and suppress an error.
# of: prefix-sum
# family: right: unusual function
# verdict: passed
import io
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress


@contextmanager
def turned(names):
    try:
        yield names
    finally:
        names.clear()


def prefix_sum(x, reverse=False):
    with ExitStack() as stack, suppress(ZeroDivisionError), redirect_stdout(io.StringIO()):
        stack.enter_context(turned(locals()))
        stack.callback(print, "left")
        print("not seen")
        1 / 0
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
