# Wrong; runs six thousand operations while its lines are recorded.
# of: gqa
# base: gqa
# family: misled diagnosis
# verdict: failed
# says: values of out differ
# diagnosis: yes
# without: the same, it misbehaves only where its lines are recorded
import sys


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        for _ in range(6_000 if "Recorder" in repr(sys.gettrace()) else 0):
            x = x + 0.0
        return self.o_proj(x)
