# Right; replaces the functions that set random seeds by functions that do nothing.
# of: one-head
# base: one_head
# family: right: unusual settings
# verdict: passed
import torch

torch.manual_seed = torch.seed = torch.random.manual_seed = lambda *args: torch.default_generator
