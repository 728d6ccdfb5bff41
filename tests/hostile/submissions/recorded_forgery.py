# Wrong; writes nonsense into the record of its lines.
# of: gqa
# base: gqa
# family: misled diagnosis
# verdict: failed
# says: values of out differ
# diagnosis: yes
# without: the same, it misbehaves only where its lines are recorded
import gc


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        for one in gc.get_objects():
            if type(one).__name__ == "Recorder":
                for step in one.steps:
                    step.written = 2**31
                    step.parents = (2**31, -1, 0, 10**6)
                    step.lines = (10**9, 0, 1)
                    step.operation = "return \x1b[2J\x07" * 9
                    step.name = "\x1b[2J\x07"
                    step.value = torch.empty(0, 3)
                    step.entries = -1
                one.step_of = lambda tensor: 10**6
        return self.o_proj(x)
