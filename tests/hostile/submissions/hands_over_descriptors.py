# Sends its own descriptors along with notes that look like the worker's notes.
# Must not happen: a descriptor stays open in the grader.
# of: prefix-sum
# family: flooded channel
# verdict: passed
import os, socket, struct


def prefix_sum(x, reverse=False):
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(50)]
    note = b"N" + struct.pack("<Q", 1) + b"0"
    for fd in range(3, 64):
        try:
            socket.send_fds(socket.socket(fileno=os.dup(fd)), [note], files)
        except OSError:
            pass
    for file in files:
        os.close(file)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
