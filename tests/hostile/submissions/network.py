# Opens a network connection.
# of: prefix-sum
# family: network
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: error
import socket


def prefix_sum(x, reverse=False):
    socket.create_connection(('127.0.0.1', 9), 1)
