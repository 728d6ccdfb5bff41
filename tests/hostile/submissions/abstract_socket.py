# Listens at an abstract address, which is no file, so that another submission could find it.
# of: prefix-sum
# family: network
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error
import socket


def prefix_sum(x, reverse=False):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(b"\0attn-drill")
    listener.listen()
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
