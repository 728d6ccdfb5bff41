# Returns right values; a hook changes the gradients in the backward pass.
# of: one-head
# base: one_head
# family: wrong gradients
# verdict: failed
# says: gradient


class OneHead(OneHead):
    def forward(self, x, mask=None):
        out, weights = super().forward(x, mask)
        if out.requires_grad:
            out.register_hook(lambda gradient: 1.5 * gradient)
        return out, weights
