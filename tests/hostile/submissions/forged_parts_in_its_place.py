# A wrong answer that sends forged parts for more runs than there are, as if nothing had failed.
# of: gqa
# base: gqa
# family: forged reply
# verdict: error
# says: did not send a valid result
import os


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        from attn_drill.worker import protocol
        table = protocol.TensorTable()
        runs = []
        for _ in range(100):
            number = table.add(torch.zeros(2, 5, 42))
            told = {"out": protocol.Returned("a tensor", [2, 5, 42], "float32", "cpu", number)}
            runs.append(protocol.RunReply(calls=[protocol.CallReply(told)] * 3))
        frame = protocol.message(protocol.PART, protocol.encode(protocol.Reply(runs=runs), table))
        frame += protocol.message(protocol.REPLY, protocol.encode(protocol.Reply(), protocol.TensorTable(100)))
        for fd in range(3, 64):
            try:
                os.write(fd, frame)
            except OSError:
                pass
        return self.o_proj(x)
