# Sends garbage as a part, and then gives the right answer.
# of: gqa
# base: gqa
# family: garbage reply
# verdict: error
# says: did not send a valid result
import os


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        from attn_drill.worker import protocol
        frame = protocol.message(protocol.PART, b"\xff" * 5000)
        for fd in range(3, 64):
            try:
                os.write(fd, frame)
            except OSError:
                pass
        return super().forward(x, mask)
