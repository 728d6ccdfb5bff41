# Mounts an empty file system over torch's folder.
# of: prefix-sum
# base: system_calls
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, it would hide a folder of the machine


def prefix_sum(x, reverse=False):
    call("mount", b"tmpfs", os.path.dirname(os.__file__).encode(), b"tmpfs", 0, 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
