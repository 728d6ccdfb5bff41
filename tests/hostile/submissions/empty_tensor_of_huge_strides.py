# Sends a frame with an empty tensor whose strides do not fit into 64 bits.
# of: prefix-sum
# family: garbage reply
# verdict: error
# says: did not send a valid result
import json
import os
import struct


def prefix_sum(x, reverse=False):
    size = 1 << 20
    header = json.dumps({"body": {"runs": []}, "tensors": [["float32", [0, size, size, size]]]}).encode()
    payload = struct.pack("<I", len(header)) + header
    for kind in (b"P", b"R"):
        for fd in range(3, 64):
            try:
                os.write(fd, kind + struct.pack("<Q", len(payload)) + payload)
            except OSError:
                pass
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
