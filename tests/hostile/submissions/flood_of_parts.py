# Sends endless empty parts of several megabytes.
# of: gqa
# base: gqa
# family: flooded channel
# verdict: error
# says: did not send a valid result
import os


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        from attn_drill.worker import protocol
        table = protocol.TensorTable()
        table.add(torch.zeros(1 << 20))
        frame = protocol.message(protocol.PART, protocol.encode(protocol.Reply(runs=[]), table))
        while True:
            for fd in range(3, 64):
                try:
                    os.write(fd, frame)
                except OSError:
                    pass
