# Writes two hundred megabytes to descriptor 1, then answers wrongly.
# of: gqa
# base: gqa
# family: output flood
# verdict: failed
# says: values of out differ
import os

flood = [b'y' * 10_000_000] * 20


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        while flood:
            os.write(1, flood.pop())
        return self.o_proj(x)
