# Right only if gradients are disabled.
# of: one-head
# base: one_head
# family: right in one mode only
# verdict: failed
# says: gradient|differ
import torch


class OneHead(OneHead):
    def forward(self, x, mask=None):
        return (x, x @ x.mT) if torch.is_grad_enabled() else super().forward(x, mask)
