# Wrong; ends the process while its lines are recorded.
# of: gqa
# base: gqa
# family: misled diagnosis
# verdict: failed
# says: values of out differ
# diagnosis: yes
# without: the same, it misbehaves only where its lines are recorded
import os, sys


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        if "Recorder" in repr(sys.gettrace()):
            os._exit(0)
        return self.o_proj(x)
