# Opens a raw socket, which sees the packets of other processes.
# of: prefix-sum
# family: network
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error
import socket


def prefix_sum(x, reverse=False):
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
