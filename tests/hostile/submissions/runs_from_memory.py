# Writes a program into a memory file and executes it.
# of: prefix-sum
# family: processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
import os


def prefix_sum(x, reverse=False):
    program = os.memfd_create("program")
    with open("/bin/true", "rb") as file:
        os.write(program, file.read())
    os.execve(program, ["true"], {})
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
