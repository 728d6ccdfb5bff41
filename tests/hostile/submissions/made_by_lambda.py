# Defines a lambda that makes modules, where a class is expected.
# of: one-head
# base: one_head
# family: defines something else
# verdict: failed
# says: OneHead.__init__
Hidden = OneHead
OneHead = lambda width, dropout=0.0: Hidden(width, dropout)
