# Sends a datagram, which needs no connection: Landlock alone would let it out.
# of: prefix-sum
# family: network
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed
import socket


def prefix_sum(x, reverse=False):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"x", ("127.0.0.1", 9))
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
