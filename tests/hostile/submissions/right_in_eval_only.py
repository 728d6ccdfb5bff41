# Right in eval mode only; leaves the mask out in training mode.
# of: one-head
# base: one_head
# family: right in one mode only
# verdict: failed
# says: values of (out|weights) differ


class OneHead(OneHead):
    def forward(self, x, mask=None):
        return super().forward(x, None if self.training else mask)
