# Stores its answer in a parameter and returns a view of the parameter.
# of: one-head
# base: one_head
# family: lying parameters
# verdict: failed error


class OneHead(OneHead):
    def forward(self, x, mask=None):
        out, weights = super().forward(x, mask)
        self.v_proj.weight.data = out
        return self.v_proj.weight[:], weights
