# Asks the kernel for the machine's interfaces.
# of: prefix-sum
# family: network
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed
import socket


def prefix_sum(x, reverse=False):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
