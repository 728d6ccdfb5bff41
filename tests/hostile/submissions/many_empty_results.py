# Sends millions of empty results.
# of: gqa
# base: gqa
# family: flooded channel
# verdict: error
# says: did not send a valid result
import os, struct


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        from attn_drill.worker import protocol
        payload = b'{"body":{"runs":[' + b'{},' * 1_000_000 + b'{}]},"tensors":[]}'
        frame = protocol.message(protocol.REPLY, struct.pack('<I', len(payload)) + payload)
        for fd in range(3, 64):
            try:
                os.write(fd, frame)
            except OSError:
                pass
        os._exit(0)
