# Right; overrides `__call__`, which only calls the base class.
# of: one-head
# base: one_head
# family: right: unusual class
# verdict: passed


class OneHead(OneHead):
    def __call__(self, x, mask=None):
        return super().__call__(x, mask)
