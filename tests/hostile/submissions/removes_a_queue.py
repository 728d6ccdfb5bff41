# Removes a message queue of any owner by its name.
# of: prefix-sum
# base: system_calls
# family: objects of the system
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, it removes a queue of another program


def prefix_sum(x, reverse=False):
    call("mq_unlink", b"attn-drill-nobodys")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
