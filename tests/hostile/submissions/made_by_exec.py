# Right; the code is assembled from strings, so it has no lines in the file.
# of: one-head
# family: right: unusual text
# verdict: passed
from textwrap import indent

PIECES = {
    "__init__(self, width, dropout=0.0)": """
super(OneHead, self).__init__()
if width < 1:
    raise ValueError(width)
for name in "qkv":
    setattr(self, f"{name}_proj", nn.Linear(width, width))
self.drop = nn.Dropout(dropout)
""",
    "forward(self, x, mask=None)": """
scores = self.q_proj(x) @ self.k_proj(x).mT / x.shape[-1] ** 0.5
scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
weights = self.drop(scores.softmax(-1))
return weights @ self.v_proj(x), weights
""",
}
text = "from torch import nn\nclass OneHead(nn.Module):\n"
for name, body in PIECES.items():
    text += indent(f"def {name}:\n{indent(body, '    ')}", "    ")
exec(text)
