# Returns one tensor as both outputs.
# of: one-head
# base: one_head
# family: odd results
# verdict: failed
# says: weights


class OneHead(OneHead):
    def forward(self, x, mask=None):
        out, _ = super().forward(x, mask)
        return out, out
