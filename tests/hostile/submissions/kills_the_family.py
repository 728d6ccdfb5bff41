# Signals every process that it can name, with signal 0, which does no harm if it passes.
# of: prefix-sum
# family: signals to others
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, it signals
import os


def prefix_sum(x, reverse=False):
    trouble = None
    for pid in (os.getppid(), 1, 0, -1):
        try:
            os.kill(pid, 0)
            raise SystemExit(f"{pid} can be signalled")
        except OSError as error:
            trouble = error
    raise trouble
