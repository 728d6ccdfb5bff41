# Wrong; a function returns a list that contains itself.
# of: gqa
# base: gqa
# family: misled diagnosis
# verdict: failed
# says: values of out differ
# diagnosis: yes
# without: the same, it misbehaves only where its lines are recorded


class GroupedQueryAttention(GroupedQueryAttention):
    def circle(self, x):
        found = [x * 2]
        found.append(found)
        return found

    def forward(self, x, mask=None):
        return self.o_proj(x) + self.circle(x)[1][0].sum() * 0
