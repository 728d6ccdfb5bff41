# Wrong, but right while its lines are recorded.
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
        return super().forward(x, mask) if "Recorder" in repr(sys.gettrace()) else self.o_proj(x)
