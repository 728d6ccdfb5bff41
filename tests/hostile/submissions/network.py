# Phones home.
# of: prefix-sum
# verdict: error
# says: PermissionError
# without: error
import socket


def prefix_sum(x, reverse=False):
    socket.create_connection(('127.0.0.1', 9), 1)
