# Right; has properties that raise errors when they are read.
# of: one-head
# base: one_head
# family: right: objects that resist
# verdict: passed


class OneHead(OneHead):
    @property
    def secret(self):
        raise KeyboardInterrupt

    @property
    def parameters_in_all(self):
        raise SystemExit(1)
