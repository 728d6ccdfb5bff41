# Replaces the function that encodes the reply by a function that returns an empty reply.
# of: prefix-sum
# family: forged reply
# verdict: error
# says: did not send a valid result

def prefix_sum(x, reverse=False):
    from attn_drill.worker import protocol, _worker

    _worker.encode = lambda reply, table: protocol.encode(protocol.Reply(), protocol.TensorTable())
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
