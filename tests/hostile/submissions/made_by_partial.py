# Defines a partial application of a class, where a class is expected.
# of: one-head
# base: one_head
# family: defines something else
# verdict: failed
# says: OneHead.__init__
import functools

OneHead = functools.partial(OneHead)
