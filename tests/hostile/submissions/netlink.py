# Asks the kernel for the machine's interfaces.
# of: prefix-sum
# verdict: error
# says: tried to open a network socket
# without: passed
import socket


def prefix_sum(x, reverse=False):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
