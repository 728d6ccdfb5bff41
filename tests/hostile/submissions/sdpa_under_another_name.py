# Uses the library's attention under another name.
# of: gqa
# base: gqa
# family: honest: functional attention
# verdict: not-allowed
# says: F.scaled_dot_product_attention is called
import torch.nn.functional as F

attend = getattr(F, 'scaled_dot_' + 'product_attention')


class GroupedQueryAttention(GroupedQueryAttention):
    def attend(self, q, k, v, mask):
        return attend(q, k, v, attn_mask=mask)
