"""The allow-list of system calls, in a simulation of the filter and in a confined process."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import platform
import re
import struct
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from attn_drill.sandbox import _system_calls, confine, isolation
from attn_drill.sandbox._system_calls import ALLOWED, RULES, SECCOMP
from tests.support.isolation import ALLOW, KILL, OWN, REFUSE, verdict_on

# All system calls of Linux up to 6.18 and their numbers, as the kernel's headers list them.
# x86_64, from 0
_X86_64 = (
    """
    read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction
    rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select
    sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep
    getitimer alarm setitimer getpid sendfile socket connect accept sendto recvfrom sendmsg
    recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt
    clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd
    msgrcv msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir
    fchdir rename mkdir rmdir creat link unlink symlink readlink chmod fchmod chown fchown
    lchown umask gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid
    setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups
    setgroups setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid
    capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack
    utime mknod uselib personality ustat statfs fstatfs sysfs getpriority setpriority
    sched_setparam sched_getparam sched_setscheduler sched_getscheduler
    sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock
    mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex
    setrlimit chroot sync acct settimeofday mount umount2 swapon swapoff reboot sethostname
    setdomainname iopl ioperm create_module init_module delete_module get_kernel_syms
    query_module quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid
    readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr
    flistxattr removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity
    sched_getaffinity set_thread_area io_setup io_destroy io_getevents io_submit io_cancel
    get_thread_area lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old
    remap_file_pages getdents64 set_tid_address restart_syscall semtimedop fadvise64
    timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_settime
    clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes
    vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive
    mq_notify mq_getsetattr kexec_load waitid add_key request_key keyctl ioprio_set
    ioprio_get inotify_init inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat
    mknodat fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat
    fchmodat faccessat pselect6 ppoll unshare set_robust_list get_robust_list splice tee
    sync_file_range vmsplice move_pages utimensat epoll_pwait signalfd timerfd_create
    eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2
    epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open
    recvmmsg fanotify_init fanotify_mark prlimit64 name_to_handle_at open_by_handle_at
    clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv process_vm_writev kcmp
    finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create
    kexec_file_load bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2
    pwritev2 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq
    """
).split()

# aarch64 (and every newer architecture), from 0 and from 260
_GENERIC = (
    """
    io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr
    getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr
    fremovexattr getcwd lookup_dcookie eventfd2 epoll_create1 epoll_ctl epoll_pwait dup dup3
    fcntl inotify_init1 inotify_add_watch inotify_rm_watch ioctl ioprio_set ioprio_get flock
    mknodat mkdirat unlinkat symlinkat linkat renameat umount2 mount pivot_root nfsservctl
    statfs fstatfs truncate ftruncate fallocate faccessat chdir fchdir chroot fchmod
    fchmodat fchownat fchown openat close vhangup pipe2 quotactl getdents64 lseek read write
    readv writev pread64 pwrite64 preadv pwritev sendfile pselect6 ppoll signalfd4 vmsplice
    splice tee readlinkat newfstatat fstat sync fsync fdatasync sync_file_range
    timerfd_create timerfd_settime timerfd_gettime utimensat acct capget capset personality
    exit exit_group waitid set_tid_address unshare futex set_robust_list get_robust_list
    nanosleep getitimer setitimer kexec_load init_module delete_module timer_create
    timer_gettime timer_getoverrun timer_settime timer_delete clock_settime clock_gettime
    clock_getres clock_nanosleep syslog ptrace sched_setparam sched_setscheduler
    sched_getscheduler sched_getparam sched_setaffinity sched_getaffinity sched_yield
    sched_get_priority_max sched_get_priority_min sched_rr_get_interval restart_syscall kill
    tkill tgkill sigaltstack rt_sigsuspend rt_sigaction rt_sigprocmask rt_sigpending
    rt_sigtimedwait rt_sigqueueinfo rt_sigreturn setpriority getpriority reboot setregid
    setgid setreuid setuid setresuid getresuid setresgid getresgid setfsuid setfsgid times
    setpgid getpgid getsid setsid getgroups setgroups uname sethostname setdomainname
    getrlimit setrlimit getrusage umask prctl getcpu gettimeofday settimeofday adjtimex
    getpid getppid getuid geteuid getgid getegid gettid sysinfo mq_open mq_unlink
    mq_timedsend mq_timedreceive mq_notify mq_getsetattr msgget msgctl msgrcv msgsnd semget
    semctl semtimedop semop shmget shmctl shmat shmdt socket socketpair bind listen accept
    connect getsockname getpeername sendto recvfrom setsockopt getsockopt shutdown sendmsg
    recvmsg readahead brk munmap mremap add_key request_key keyctl clone execve mmap
    fadvise64 swapon swapoff mprotect msync mlock munlock mlockall munlockall mincore
    madvise remap_file_pages mbind get_mempolicy set_mempolicy migrate_pages move_pages
    rt_tgsigqueueinfo perf_event_open accept4 recvmmsg
    """
).split()
_GENERIC_260 = (
    """
    wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at
    clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp finit_module
    sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf execveat
    userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc
    pkey_free statx io_pgetevents rseq kexec_file_load
    """
).split()

# all architectures, from 424
_COMMON = (
    """
    pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount
    fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd
    faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd
    landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret
    process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2
    map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount
    lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat
    listxattrat removexattrat open_tree_attr file_getattr file_setattr listns
    """
).split()

NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        **{name: number for number, name in enumerate(_X86_64)},
        "uretprobe": 335,
        "uprobe": 336,
        **{name: number for number, name in enumerate(_COMMON, 424)},
    },
    "aarch64": {
        **{name: number for number, name in enumerate(_GENERIC)},
        **{name: number for number, name in enumerate(_GENERIC_260, 260)},
        **{name: number for number, name in enumerate(_COMMON, 424)},
    },
}

needs_seccomp = pytest.mark.skipif(
    sys.platform != "linux" or not isolation.has_seccomp(),
    reason="this kernel has no seccomp, or no table for this machine",
)


# The kernel lets these calls pass every filter. They belong to the kernel's own probes. Any other
# process that makes these calls ends with SIGILL.
NO_FILTER = {"uprobe", "uretprobe"}


# All calls that are not allowed, grouped by their purpose. Every call of the table is in REFUSED or
# in ALLOWED.
REFUSED = {
    "communicate with other machines and processes": """
        socket socketpair bind listen accept accept4 connect sendto recvfrom sendmsg sendmmsg
        recvmsg recvmmsg shutdown getsockname getpeername setsockopt getsockopt
    """,
    "start processes and wait for them": "fork vfork clone3 execve execveat wait4 waitid uselib",
    "signal other processes": """
        tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal pidfd_open pidfd_getfd
    """,
    "signal by timers and descriptors": """
        timer_create timer_settime timer_gettime timer_getoverrun timer_delete timerfd_create
        timerfd_settime timerfd_gettime signalfd signalfd4 eventfd eventfd2
    """,
    "inspect other processes": """
        ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp
        get_robust_list perf_event_open uprobe uretprobe
    """,
    "become another user, group or session": """
        setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups setpgid
        setsid getpgid getpgrp getsid capset personality
    """,
    "change scheduling": """
        setpriority getpriority sched_setparam sched_getparam sched_setscheduler
        sched_getscheduler sched_setattr sched_getattr sched_setaffinity sched_get_priority_max
        sched_get_priority_min sched_rr_get_interval ioprio_set ioprio_get
    """,
    "memory outside the limit": """
        memfd_create memfd_secret userfaultfd mlock mlock2 mlockall munlock munlockall mincore
        remap_file_pages mbind set_mempolicy get_mempolicy set_mempolicy_home_node migrate_pages
        move_pages pkey_mprotect pkey_alloc pkey_free map_shadow_stack mseal futex_waitv
        futex_wake futex_wait futex_requeue
    """,
    "shared memory, semaphores and queues": """
        shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
        mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
    """,
    "modes, owners and times": """
        chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat
        utimensat
    """,
    "attributes": """
        setxattr lsetxattr fsetxattr setxattrat getxattr lgetxattr fgetxattr getxattrat
        listxattr llistxattr flistxattr listxattrat removexattr lremovexattr fremovexattr
        removexattrat file_getattr file_setattr
    """,
    "watch or lock files of others": """
        inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_init
        fanotify_mark flock
    """,
    "files by other ways": """
        creat openat2 getdents mknod mknodat name_to_handle_at open_by_handle_at splice tee
        vmsplice fadvise64 readahead sync syncfs sync_file_range cachestat lookup_dcookie
        epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_wait epoll_wait_old epoll_pwait
        epoll_pwait2 io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents
    """,
    "mounts and namespaces": """
        mount umount2 pivot_root chroot unshare setns open_tree open_tree_attr move_mount fsopen
        fsconfig fsmount fspick mount_setattr statmount listmount listns ustat sysfs quotactl
        quotactl_fd
    """,
    "large interfaces of the kernel": """
        io_uring_setup io_uring_enter io_uring_register bpf add_key request_key keyctl seccomp
        landlock_create_ruleset landlock_add_rule landlock_restrict_self lsm_get_self_attr
        lsm_set_self_attr lsm_list_modules init_module finit_module delete_module create_module
        get_kernel_syms query_module kexec_load kexec_file_load
    """,
    "the machine": """
        reboot swapon swapoff acct syslog settimeofday clock_settime adjtimex clock_adjtime
        sethostname setdomainname setrlimit vhangup iopl ioperm modify_ldt set_thread_area
        get_thread_area
    """,
    "obsolete calls": "_sysctl nfsservctl getpmsg putpmsg afs_syscall tuxcall security vserver",
}


def test_every_call_is_either_allowed_or_refused() -> None:
    """No call of the table is missing in both lists or present in both."""
    table = set(chain(*NUMBERS.values()))
    refused = [name for names in REFUSED.values() for name in names.split()]
    assert len(refused) == len(set(refused))
    assert set(ALLOWED).isdisjoint(refused)
    assert set(ALLOWED) | set(refused) == table


def test_allowed_calls_have_the_numbers_of_the_table(machine: str) -> None:
    """An allowed call has no number on a machine that lacks the call."""
    column = SECCOMP[machine][1]
    assert {name: numbers[column] for name, numbers in ALLOWED.items()} == {
        name: NUMBERS[machine].get(name) for name in ALLOWED
    }


@pytest.mark.skipif(
    not Path("/usr/include/asm-generic/unistd.h").exists(),
    reason="the kernel's headers are not installed",
)
@pytest.mark.parametrize(
    ("of", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_the_table_agrees_with_the_kernel_headers(of: str, header: str) -> None:
    """Every name in the kernel's headers has the same number in the table."""
    if not Path(header).exists():
        pytest.skip("the kernel's headers for this machine are not installed")
    other_names = {"fstatat": "newfstatat", "sync_file_range2": "sync_file_range"}
    compared = 0
    for line in Path(header).read_text().splitlines():
        if found := re.fullmatch(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", line):
            name = other_names.get(found[1], found[1])
            if not name.endswith("time64") and name not in ("arch_specific_syscall", "syscalls"):
                assert NUMBERS[of].get(name) == int(found[2]), line
                compared += 1
    assert compared > 250


@pytest.mark.sampled(5)
def test_a_refused_call_is_refused_with_any_arguments(machine: str, code: bytes) -> None:
    """No argument makes a call pass that is not in the allow-list."""
    for family, names in REFUSED.items():
        for name in names.split():
            if (number := NUMBERS[machine].get(name)) is not None:
                for value in (0, 1, OWN, 0x003D0F00, 0xFFFFFFFF, (1 << 64) - 1):
                    assert verdict_on(code, machine, number, [value] * 6) == REFUSE, (family, name)


HIGH = 1 << 32  # the kernel reads 32 bits of an int, so the upper half makes no difference


# The second argument of fcntl and ioctl, and the first argument of clone and prctl.
ALLOWED_FIRST: dict[str, tuple[int, ...]] = {
    "fcntl": (0, 1, 2, 3, 4, 5, 6, 1030, 1 + HIGH),
    "ioctl": (
        0x5401,
        0x802C542A,
        0x5413,
        0x541B,
        0x5421,
        0x5450,
        0x5451,
        0x40049409,
        0x5401 + HIGH,
    ),
    "clone": (0x003D0F00, 0x007D0F00, 0x003D0F00 + HIGH),
    "prctl": (3, 15, 16, 21, 39, 51, 64, 0x53564D41),
}
REFUSED_FIRST: dict[str, tuple[int, ...]] = {
    "fcntl": (
        # F_SETLKW, F_SETOWN, F_GETOWN, F_SETSIG, F_GETSIG, F_SETOWN_EX, F_GETOWN_EX, F_OFD_GETLK,
        # F_OFD_SETLK, F_OFD_SETLKW
        *(7, 8, 9, 10, 11, 15, 16, 36, 37, 38, 8 + HIGH),
        # F_SETLEASE, F_GETLEASE, F_NOTIFY, F_DUPFD_QUERY, F_CREATED_QUERY, F_CANCELLK,
        # F_SETPIPE_SZ, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS, F_GET_RW_HINT, F_SET_RW_HINT,
        # F_GET_FILE_RW_HINT, F_SET_FILE_RW_HINT, F_SETDELEG
        *(*range(1024, 1030), *range(1031, 1045), 1024 + HIGH),
    ),
    "ioctl": (
        # FIOASYNC, FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCSCTTY, TCSETS, TIOCLINUX, TIOCCONS
        *(0x5452, 0x8901, 0x8902, 0x5412, 0x540E, 0x5402, 0x541C, 0x541D),
        # FS_IOC_SETFLAGS, FS_IOC_GETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, FICLONERANGE,
        # FIDEDUPERANGE, FIFREEZE, FITRIM, FS_IOC_ENABLE_VERITY, FS_IOC_SET_ENCRYPTION_POLICY
        *(0x40086602, 0x80086601, 0x401C5820, 0x40087602, 0x4020940D, 0xC0189436),
        *(0xC0045877, 0xC0185879, 0x40806685, 0x800C6613, 0x40086602 + HIGH, HIGH, 0),
    ),
    "clone": (
        # No flags, SIGCHLD, the flags of vfork, a thread with separate files, with a new user,
        # mount or process namespace, traced, with the same parent as the caller
        *(0, 17, 0x4111, 0x003D0B00, 0x103D0F00, 0x003F0F00, 0x203D0F00, 0x003D2F00, 0x003D8F00),
        *(0x00010000, 0x00010900, 0xFFFFFFFF, HIGH, 0x003D0F11),
    ),
    "prctl": (
        # PDEATHSIG, DUMPABLE, KEEPCAPS, TIMING, SECCOMP, CAPBSET_DROP, TSC, SECUREBITS, TIMERSLACK,
        # TASK_PERF_EVENTS, MCE_KILL, SET_MM, CHILD_SUBREAPER, NO_NEW_PRIVS, THP_DISABLE,
        # CAP_AMBIENT, SPECULATION, IO_FLUSHER, SYSCALL_USER_DISPATCH, SCHED_CORE, MDWE, PTRACER
        *(1, 4, 8, 14, 22, 24, 26, 28, 29, 31, 32, 33, 35, 36, 38, 41, 47, 53, 57, 59, 62, 65),
        *(0x59616D61, 0, 1 + HIGH, 0xFFFFFFFF),
    ),
}
ARGUMENTS: list[tuple[str, list[int], bool]] = [
    *(
        (name, [3, value] if name in ("fcntl", "ioctl") else [value], is_allowed)
        for table, is_allowed in ((ALLOWED_FIRST, True), (REFUSED_FIRST, False))
        for name, values in table.items()
        for value in values
    ),
    *(
        (name, [pid, pid, 9], pid in (OWN, OWN + HIGH))
        for name in ("kill", "tgkill")
        for pid in (OWN, OWN + HIGH, 0, 1, -1, -OWN, OWN + 1)
    ),
    ("prlimit64", [0, 7, 0, 0], True),
    ("prlimit64", [0, 7, 0, 1 << 40], True),
    ("prlimit64", [HIGH, 7, 0, 1], True),
    ("prlimit64", [0, 7, 1, 0], False),
    ("prlimit64", [0, 7, HIGH, 0], False),
    ("prlimit64", [1, 7, 0, 1], False),
    ("prlimit64", [OWN, 7, 0, 1], False),
    ("prlimit64", [0, 7, 1 << 63, 1], False),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "arguments", "allowed"), ARGUMENTS)
def test_rules_check_the_arguments(
    machine: str, code: bytes, name: str, arguments: list[int], allowed: bool
) -> None:
    """A call that is needed in one form is refused in all other forms."""
    number = NUMBERS[machine][name]
    assert verdict_on(code, machine, number, arguments) == (ALLOW if allowed else REFUSE)


@pytest.mark.parametrize(
    ("code_of", "allowed"),
    [
        (0x1021, True),
        (0x1022, True),
        (0x1023, True),
        (0x1001, False),
        (0x1002, False),
        (0x5001, False),
    ],
)
def test_arch_prctl_is_allowed_for_amx_only(code_of: int, allowed: bool) -> None:
    """oneDNN may request AMX. Segment bases and shadow stacks cannot be changed."""
    found = verdict_on(
        _system_calls.program("x86_64", OWN), "x86_64", NUMBERS["x86_64"]["arch_prctl"], [code_of]
    )
    assert found == (ALLOW if allowed else REFUSE)


def test_every_rule_is_tested() -> None:
    """Every call with a rule has arguments in this file that pass, and arguments that do not."""
    tested = {(name, allowed) for name, _, allowed in ARGUMENTS} | {
        ("arch_prctl", True),
        ("arch_prctl", False),
    }
    assert tested == {(name, allowed) for name in RULES for allowed in (True, False)}


def confined(action: Callable[[], Any], tmp_path: Path) -> Any:
    """Return the result of an action in a child process that is confined like a worker."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            confine.confine(
                confine.Landlock.of(["/usr", "/lib", sys.prefix], str(tmp_path)), str(tmp_path)
            )
            os.write(writing, json.dumps(action()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    assert text, "the child died"
    return json.loads(text)


@needs_seccomp
def test_the_kernel_refuses_every_unlisted_call(tmp_path: Path) -> None:
    """In a confined process, every call number that is not listed fails with ENOSYS."""
    column = SECCOMP[platform.machine()][1]
    listed = {numbers[column] for numbers in ALLOWED.values()} | {
        NUMBERS[platform.machine()].get(name) for name in NO_FILTER
    }
    unlisted = [
        number
        for number in chain(range(1024), range(0x40000000, 0x40000200))
        if number not in listed
    ]

    def action() -> list[int] | str:
        libc = ctypes.CDLL(None, use_errno=True)
        # PR_GET_SECCOMP. Without the filter, some of the calls below would do harm.
        if libc.prctl(21, 0, 0, 0, 0) != 2:
            return "there is no filter"
        arguments = [ctypes.c_long(-1)] * 6
        not_refused = []
        for number in unlisted:
            ctypes.set_errno(0)
            if libc.syscall(ctypes.c_long(number), *arguments) != -1 or ctypes.get_errno() != 38:
                not_refused.append(number)
        return not_refused

    assert confined(action, tmp_path) == []
    assert len(unlisted) > 1300


@needs_seccomp
def test_the_kernel_agrees_with_the_simulation_of_the_rules(tmp_path: Path) -> None:
    """This kernel refuses the arguments that the simulation refuses."""
    machine = platform.machine()
    refused = [(name, arguments) for name, arguments, allowed in ARGUMENTS if not allowed]

    def action() -> list[Any]:
        libc, own_pid = ctypes.CDLL(None, use_errno=True), os.getpid()
        not_refused = []
        for name, arguments in refused:
            values = [-own_pid if value == -OWN else value for value in arguments]
            if name in ("kill", "tgkill"):
                values[-1] = 0  # signal 0 does no harm if the call passes
            ctypes.set_errno(0)
            result = libc.syscall(
                ctypes.c_long(NUMBERS[machine][name]),
                *(ctypes.c_ulong(value & (1 << 64) - 1) for value in values),
            )
            if result != -1 or ctypes.get_errno() != 38:
                not_refused.append([name, values, result, ctypes.get_errno()])
        return not_refused

    assert confined(action, tmp_path) == []


@needs_seccomp
def test_leases_and_folder_notifications_are_refused(tmp_path: Path) -> None:
    """A process that opens a leased file for writing would wait, 45 s by default."""
    compiled = tmp_path / "module.pyc"
    compiled.write_bytes(b"x")

    def action() -> list[Any]:
        with open(compiled, "rb") as file:
            errors = []
            for command, value in (
                (fcntl.F_SETLEASE, fcntl.F_RDLCK),
                (fcntl.F_NOTIFY, 2),
                (fcntl.F_GETLEASE, 0),
            ):
                try:
                    errors.append(fcntl.fcntl(file, command, value))
                except OSError as error:
                    errors.append(error.errno)
        return errors

    assert confined(action, tmp_path) == [38, 38, 38]


def test_only_the_listed_call_numbers_pass(machine: str, code: bytes) -> None:
    """A listed number passes with permitted arguments. Every other number fails with ENOSYS."""
    column = SECCOMP[machine][1]
    passing = {
        numbers[column]: permitted_arguments(name)
        for name, numbers in ALLOWED.items()
        if numbers[column] is not None
    }
    for number in chain(
        range(1024), range(0x40000000, 0x40000400), (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    ):
        expected = ALLOW if number in passing else REFUSE
        assert verdict_on(code, machine, number, passing.get(number, ())) == expected, number


@pytest.mark.parametrize(
    "architecture", [0x40000003, 0x40000028, 0xC000003E, 0xC00000B7, 0x80000015, 0]
)
def test_calls_of_another_architecture_kill_the_process(
    machine: str, code: bytes, architecture: int
) -> None:
    """In a 32-bit program the same numbers mean other calls, so this table must not be used."""
    for number in range(0, 512):
        verdict = verdict_on(code, machine, number, architecture=architecture)
        assert (verdict == KILL) == (architecture != SECCOMP[machine][0])


def permitted_arguments(name: str) -> list[int]:
    """Return arguments that the rules on a call allow."""
    return {
        "clone": [0x003D0F00],
        "kill": [OWN, 6],
        "tgkill": [OWN, OWN, 6],
        "fcntl": [3, 1],
        "ioctl": [3, 0x5401],
        "prctl": [15],
        "arch_prctl": [0x1021],
        "prlimit64": [0, 7, 0, 1 << 40],
    }.get(name, [])


def test_the_program_fits_into_the_kernel(machine: str, code: bytes) -> None:
    """The kernel accepts 4096 instructions."""
    assert len(code) // 8 < 4096


def test_calls_with_tested_arguments_come_first(machine: str, code: bytes) -> None:
    """The kernel keeps the verdict on all other calls, so only these calls run the program."""
    column = SECCOMP[machine][1]
    tested = [ALLOWED[name][column] for name in RULES if ALLOWED[name][column] is not None]
    assert tested
    assert all(steps(code, number) < 100 for number in tested)


def steps(code: bytes, number: int) -> int:
    """Return how many instructions run for a call without arguments."""
    accumulator, position, count = 0, 0, 0
    while True:
        kind, jump_if_true, jump_if_false, value = struct.unpack_from("<HBBI", code, 8 * position)
        position, count = position + 1, count + 1
        match kind:
            case 0x20:
                accumulator = {0: number, 4: struct.unpack_from("<I", code, 12)[0]}.get(value, 0)
            case 0x05:
                position += value
            case 0x15 | 0x35:
                holds = accumulator == value if kind == 0x15 else accumulator >= value
                position += jump_if_true if holds else jump_if_false
            case 0x06:
                return count
