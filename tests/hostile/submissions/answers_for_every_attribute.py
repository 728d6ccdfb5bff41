# Right; returns a value for every attribute name.
# of: one-head
# base: one_head
# family: right: objects that resist
# verdict: passed


class OneHead(OneHead):
    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return None
