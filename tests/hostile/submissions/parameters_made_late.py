# Creates its layers in the first call.
# of: one-head
# base: one_head
# family: lying parameters
# verdict: failed error


class OneHead(OneHead):
    def forward(self, x, mask=None):
        if not hasattr(self, "late"):
            self.late = nn.Linear(x.shape[-1], x.shape[-1])
        return self.late(x), x @ x.mT
