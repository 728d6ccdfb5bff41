# Writes a forged reply to every descriptor and ends.
# of: gqa
# base: gqa
# family: forged reply
# verdict: error
# says: did not send a valid result
import os


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        from attn_drill.worker import protocol
        reply = protocol.Reply(signatures={}, runs=[protocol.RunReply() for _ in range(29)])
        frame = protocol.message(protocol.REPLY, protocol.encode(reply, protocol.TensorTable()))
        for fd in range(3, 64):
            try:
                os.write(fd, frame)
            except OSError:
                pass
        os._exit(0)
