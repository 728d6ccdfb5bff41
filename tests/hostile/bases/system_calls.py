"""Make system calls that no function of Python or C makes, so that no audit hook hears of them."""

import ctypes
import os

NUMBERS = {  # on x86_64 and aarch64
    "clone": (56, 220),
    "file_setattr": (469, 469),
    "inotify_init1": (294, 26),
    "io_uring_setup": (425, 425),
    "mount": (165, 40),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "prctl": (157, 167),
    "process_vm_readv": (310, 270),
    "ptrace": (101, 117),
    "semget": (64, 190),
    "setxattrat": (463, 463),
    "shmget": (29, 194),
    "tgkill": (234, 131),
    "unshare": (272, 97),
    "vfork": (58, 220),  # aarch64 has only clone
}
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """Make a system call. Raise OSError if the kernel refuses it."""
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    # Each number fills a whole register.
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    found = libc.syscall(number, *given)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found
