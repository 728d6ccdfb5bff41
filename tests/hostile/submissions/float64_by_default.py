# Right; makes float64 the default dtype.
# of: one-head
# base: one_head
# family: right: unusual settings
# verdict: passed
import torch

torch.set_default_dtype(torch.float64)
