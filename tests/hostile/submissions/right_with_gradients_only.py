# Right only if gradients are enabled.
# of: one-head
# base: one_head
# family: right in one mode only
# verdict: failed
# says: values of out differ
import torch


class OneHead(OneHead):
    def forward(self, x, mask=None):
        return super().forward(x, mask) if torch.is_grad_enabled() else (x, x @ x.mT)
