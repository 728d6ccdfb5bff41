"""Every repair of a bug passes, also a repair that does not give the text of the reference."""

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch, read_mistakes
from tests.support.grading import report_of

GPT = pack_reader.find_challenge(pack_reader.built_in_pack(), "mini-gpt")
SOURCE = pack_reader.solution(GPT)
KNOWN = {mistake.id: mistake for mistake in read_mistakes(GPT)}
# The lines of the broken file to change, and the repairs of a learner.
REPAIRS: dict[str, tuple[str, tuple[str, ...]]] = {
    "no-scale": (
        "scores = q @ k.transpose(-2, -1)",
        (
            "scores = q @ k.transpose(-2, -1) * self.head_dim**-0.5",
            "scores = (q / k.shape[-1] ** 0.5) @ k.transpose(-2, -1)",
            "scores = torch.einsum('bhid,bhjd->bhij', q, k).div(math.sqrt(q.size(-1)))",
        ),
    ),
    "scale-by-d-model": (
        "scores = scores / math.sqrt(d_model)",
        (
            "scores = scores / math.sqrt(d_model // self.num_heads)",
            "scores = scores / math.sqrt(d_model) * math.sqrt(self.num_heads)",
            "scores *= 1 / self.head_dim**0.5",
        ),
    ),
    "causal-mask-missing": (
        "weights = torch.softmax(scores, dim=-1)",
        (
            "weights = scores.masked_fill(~causal, -1e9).softmax(-1)",
            "weights = torch.where(causal, scores, -torch.inf).softmax(dim=-1)",
            "weights = (scores + torch.zeros_like(scores).masked_fill(~causal, -1e9)).softmax(-1)",
        ),
    ),
    "causal-mask-sees-one-ahead": (
        ".tril(1)",
        (".tril()", ".tril(1).tril(0)", ".tril(1) & torch.ones(length, length).tril().bool()"),
    ),
    "causal-mask-upper-triangle": (
        "causal = torch.ones(length, length, dtype=torch.bool, device=x.device).triu()",
        (
            "causal = torch.ones(length, length, dtype=torch.bool, device=x.device).triu().T",
            "causal = ~torch.ones(length, length, dtype=torch.bool).triu(1)",
            "place = torch.arange(length)\n        causal = place[:, None] >= place",
        ),
    ),
    "softmax-over-queries": (
        "torch.softmax(scores, dim=-2)",
        (
            "F.softmax(scores, -1)",
            "torch.softmax(scores, dim=3)",
            "torch.exp(scores - scores.logsumexp(-1, keepdim=True))",
        ),
    ),
    "keys-split-without-transpose": (
        "k = k.view(batch, self.num_heads, length, self.head_dim)",
        (
            "k = k.view(batch, length, self.num_heads, -1).permute(0, 2, 1, 3)",
            "k = torch.stack(k.split(self.head_dim, dim=-1), dim=1)",
            "k = k.unflatten(-1, (self.num_heads, self.head_dim)).swapaxes(1, 2)",
        ),
    ),
    "heads-merged-without-transpose": (
        "merged = heads.reshape(batch, length, d_model)",
        (
            "merged = heads.transpose(1, 2).flatten(2)",
            "merged = torch.cat(heads.unbind(1), dim=-1)",
            "merged = heads.permute(0, 2, 1, 3).contiguous().view(batch, length, -1)",
        ),
    ),
    "queries-and-keys-exchanged": (
        "k, q, v = self.qkv_proj(x).chunk(3, dim=-1)",
        (
            "q, k, v = self.qkv_proj(x).split(d_model, dim=2)",
            "k, q, v = self.qkv_proj(x).chunk(3, dim=-1)\n        q, k = k, q",
            "q, k, v = self.qkv_proj(x).view(batch, length, 3, d_model).unbind(2)",
        ),
    ),
    "relu-for-gelu": (
        "F.relu(self.fc(x))",
        (
            "nn.GELU()(self.fc(x))",
            "F.gelu(self.fc(x), approximate='tanh')",
            "(lambda y: y * 0.5 * (1 + torch.erf(y / math.sqrt(2))))(self.fc(x))",
        ),
    ),
    "post-norm-attention": (
        "attended = self.attn(x)\n        x = self.ln_1(x + self.dropout(attended))",
        (
            "x = x + self.dropout(self.attn(self.ln_1(x)))",
            "before = x\n        x = self.dropout(self.attn(self.ln_1(x)))\n        x += before",
            "x = torch.add(x, self.dropout(self.attn(self.ln_1(x))))",
        ),
    ),
    "mlp-residual-missing": (
        "return self.dropout(changed)",
        (
            "return self.dropout(changed) + x",
            "return x.add(self.dropout(changed))",
            "x = x + self.dropout(changed)\n        return x",
        ),
    ),
    "positions-missing": (
        "x = self.tok_emb(tokens)  # [B, L, M]",
        (
            "x = self.tok_emb(tokens) + self.pos_emb.weight[:length]",
            "x = self.tok_emb(tokens) + self.pos_emb(positions.expand(len(tokens), -1))",
            "x = self.tok_emb(tokens)\n        x = x + self.pos_emb(positions)[None]",
        ),
    ),
    "final-norm-missing": (
        "return self.head(x)  # [B, L, V]",
        (
            "return self.head(self.ln_f(x))",
            "x = self.ln_f(x)\n        return x @ self.head.weight.T",
            "return F.linear(self.ln_f(x), self.head.weight)",
        ),
    ),
    "biases-not-zero": (
        "                pass",
        (
            "                module.bias.data.zero_()",
            "                nn.init.constant_(module.bias, 0.0)",
            "                with torch.no_grad():\n                    module.bias.fill_(0)",
        ),
    ),
    "no-shift": (
        "    predictions = logits\n    targets = tokens\n",
        (
            "    predictions, targets = logits[:, :-1, :], tokens[:, 1:]\n",
            "    last = tokens.shape[1] - 1\n    predictions = logits.narrow(1, 0, last)\n"
            "    targets = tokens.narrow(1, 1, last)\n",
            "    predictions = logits[:, :-1]\n    targets = tokens.roll(-1, 1)[:, :-1]\n",
        ),
    ),
    "sum-for-mean": (
        'return F.cross_entropy(predictions.flatten(0, 1), targets.flatten(), reduction="sum")',
        (
            "return F.cross_entropy(predictions.transpose(1, 2), targets)",
            "return F.cross_entropy(\n        predictions.flatten(0, 1), targets.flatten(), "
            'reduction="sum"\n    ) / targets.numel()',
            "return -predictions.log_softmax(-1).gather(-1, targets[..., None]).mean()",
        ),
    ),
    "gradients-not-zeroed": (
        "    logits = model(tokens)\n    loss = next_token_loss(logits, tokens)\n",
        (
            "    model.zero_grad()\n    loss = next_token_loss(model(tokens), tokens)\n",
            "    loss = next_token_loss(model(tokens), tokens)\n    optimizer.zero_grad()\n",
            "    for parameter in model.parameters():\n        parameter.grad = None\n"
            "    loss = next_token_loss(model(tokens), tokens)\n",
        ),
    ),
    "clipped-after-the-step": (
        "    optimizer.step()\n    nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n",
        (
            "    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm)\n"
            "    optimizer.step()\n",
            "    grads = [p.grad for p in model.parameters() if p.grad is not None]\n"
            "    total = torch.stack([grad.norm() for grad in grads]).norm()\n"
            "    for grad in grads:\n        grad *= (max_norm / (total + 1e-6)).clamp(max=1.0)\n"
            "    optimizer.step()\n",
            "    total = nn.utils.get_total_norm([p.grad for p in model.parameters()])\n"
            "    if total > max_norm:\n        for p in model.parameters():\n"
            "            p.grad *= max_norm / total\n    optimizer.step()\n",
        ),
    ),
    "context-cropped-at-the-end": (
        "tokens[:, : model.max_seq_len]",
        (
            "tokens[:, max(0, tokens.shape[1] - model.max_seq_len) :]",
            "tokens if tokens.shape[1] <= model.max_seq_len else tokens[:, -model.max_seq_len:]",
            "tokens[:, -model.pos_emb.num_embeddings :]",
        ),
    ),
    "generation-in-training-mode": (
        "    was_training = model.training\n",
        (
            "    was_training = model.training\n    model.train(False)\n",
            "    was_training = model.training\n    model = model.eval()\n",
            "    was_training, _ = model.training, model.eval()\n",
        ),
    ),
    "least-likely-token": (
        "last.argmin(dim=-1, keepdim=True)",
        (
            "last.max(dim=-1, keepdim=True).indices",
            "last.topk(1).indices",
            "last.argmax(1)[:, None]",
        ),
    ),
}


def test_table_is_large_enough() -> None:
    """At least twenty bugs have at least three different repairs each."""
    assert len(REPAIRS) >= 20
    assert all(len(set(repairs)) >= 3 for _, repairs in REPAIRS.values())


@pytest.mark.thorough
@pytest.mark.sampled(33)
@pytest.mark.parametrize(
    ("mistake", "index"),
    [(mistake, index) for index in range(3) for mistake in REPAIRS],
)
def test_repair_passes(grader: Grader, mistake: str, index: int) -> None:
    """The broken file fails, and the repaired file passes all checks."""
    broken = patch(SOURCE, KNOWN[mistake], "")
    wrong, repairs = REPAIRS[mistake]
    assert broken.count(wrong) == 1
    repaired = broken.replace(wrong, repairs[index])
    if index == 0:
        assert report_of(grader, GPT, broken, "mini_gpt.py", 1).verdict != "passed"
    report = report_of(grader, GPT, repaired, "mini_gpt.py", 1)
    assert report.verdict == "passed", report.first_failure()
