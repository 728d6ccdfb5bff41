# Wrong; raises an error that cannot be shown while its lines are recorded.
# of: gqa
# base: gqa
# family: misled diagnosis
# verdict: failed
# says: values of out differ
# diagnosis: yes
# without: the same, it misbehaves only where its lines are recorded
import sys


class Unspeakable(BaseException):
    def __str__(self):
        raise Unspeakable


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        if "Recorder" in repr(sys.gettrace()):
            raise Unspeakable
        return self.o_proj(x)
