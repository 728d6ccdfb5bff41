# Opens a network connection.
# of: prefix-sum
# verdict: error
# says: it tried to open a network socket
# without: error
import socket


def prefix_sum(x, reverse=False):
    socket.create_connection(('127.0.0.1', 9), 1)
