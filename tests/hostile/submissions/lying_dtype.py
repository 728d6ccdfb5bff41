# Returns float32 for bfloat16 inputs, in a subclass that claims to be bfloat16.
# of: gqa
# base: gqa
# family: lying tensors
# verdict: failed error
# says: out has dtype float32
# diagnosis: yes
class Liar(torch.Tensor):
    @property
    def dtype(self):
        return torch.bfloat16


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        out = super().forward(x, mask)
        return out.float().as_subclass(Liar) if x.dtype == torch.bfloat16 else out
