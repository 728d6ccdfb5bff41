# Starts a process that shares its memory and has the fork server as its parent.
# Must not happen: the fork server gets a child that it does not know.
# of: prefix-sum
# base: system_calls
# family: processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, a child on a stack of its own runs into nowhere


def prefix_sum(x, reverse=False):
    stack = ctypes.create_string_buffer(1 << 16)
    call("clone", 0x100 | 0x8000 | 17, ctypes.addressof(stack) + (1 << 15), 0, 0, 0)  # CLONE_VM, CLONE_PARENT, SIGCHLD
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
