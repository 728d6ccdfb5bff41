# Wrong; switches tracing off.
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
        sys.settrace(None)
        sys._getframe().f_trace = None
        return self.o_proj(x)
