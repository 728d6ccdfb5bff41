# Wrong; never ends while its lines are recorded.
# of: gqa
# base: gqa
# family: misled diagnosis
# verdict: failed
# says: values of out differ
# seconds: 1
# diagnosis: yes
# without: the same, it misbehaves only where its lines are recorded
import sys, time


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        while "Recorder" in repr(sys.gettrace()):
            time.sleep(0.01)
        return self.o_proj(x)
