# Sends more runs than requested before they are done, and then gives the right answer.
# of: gqa
# base: gqa
# family: forged reply
# verdict: error
# says: did not send a valid result
import os


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        from attn_drill.worker import protocol
        part = protocol.Reply(runs=[protocol.RunReply() for _ in range(20)])
        frame = protocol.message(protocol.PART, protocol.encode(part, protocol.TensorTable()))
        for fd in range(3, 64):
            try:
                os.write(fd, frame)
            except OSError:
                pass
        return super().forward(x, mask)
