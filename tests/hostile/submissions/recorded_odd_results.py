# Wrong; its results are of every kind: empty, not finite, complex, integers, of ten dims.
# of: gqa
# base: gqa
# family: misled diagnosis
# verdict: failed
# diagnosis: yes
# without: the same, it misbehaves only where its lines are recorded


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        odd = [torch.empty(0), x.new_full((3, 4), float("nan")), x.new_full((5,), float("inf")), torch.fft.fft(x.float()), (x * 7).long()]
        odd += [x.flatten()[:1].reshape([1] * 10), (x * 9).to(torch.int8), x > 0, torch.zeros(()), x.to(torch.float16), torch.eye(3).to_sparse()]
        kept = [one * 1 if one.dtype != torch.bool else ~one for one in odd]
        return self.o_proj(x) + kept[0].sum() + kept[7].sum() * 0
