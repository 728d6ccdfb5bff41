"""Cases for a small GPT: the model, its initial values, the loss, training steps, generation.

T is max_seq_len and P the number of new tokens. The hidden values of every MLP are small, because
the exact GELU and its approximation with tanh agree there to the last digits of float32. Their
derivatives agree only if the values are still smaller.
"""

from dataclasses import replace

import torch

from attn_drill.casekit import (
    TURNS,
    Case,
    Refusal,
    TokenMaker,
    bad_heads,
    branch_factors,
    branch_words,
    branches_apart,
    dropout_in_turn,
    own_scores_far_below_zero,
    realistic_call,
    shaped,
    small_hidden,
    suites,
)
from attn_drill.worker.arguments import own_module
from attn_drill.worker.execution import functions_of

PARTS = ("model", "loss", "training step", "generation")
LAYERS = 2
SPREAD = 0.02  # of the initial weights
DROPOUT = 0.4
READS = "the head reads the result of ln_f"


def drive(model, given):
    """Call the model, or one of the functions of its file."""
    own = own_module(model)
    if given.part == "small training":
        return small_training(type(own), functions_of(model).train_step, given)
    if given.part == "model":
        outputs = {"logits": model(given.tokens)}
        if "later_tokens" in given.inputs:
            outputs["later_logits"] = model(given.later_tokens)
        return outputs
    if given.part == "dropout":
        return dropout_in_turn(own, lambda: model(given.tokens))
    if given.part == "factors":
        return factors(own, given.tokens)
    if given.part == "initial":
        return {"initial values": initial_values(own)}
    if given.part == "loss":
        loss = functions_of(model).next_token_loss(given.logits, given.tokens)
        same = isinstance(loss, torch.Tensor) and loss.dtype == torch.float32
        return {"loss": loss.to(given.logits.dtype) if same else loss}
    if given.part == "generation":
        return generation(own, functions_of(model).generate, given)
    return training(model, functions_of(model).train_step, given)


def factors(model, tokens):
    """Return in words how dropout acts on the embeddings, on both branches and after them."""
    words = branch_factors(model, lambda: model(tokens), 1, DROPOUT)
    reads = [reads_the_norm(model.train(mode), tokens) for mode in (True, False)]
    # If the two differ in eval mode, too, the reason is not dropout.
    return words | {READS: str(reads != [False, True])}


def reads_the_norm(model, tokens):
    """Return whether the logits are the head's product with the result of ln_f."""
    results = []
    hooks = [
        part.register_forward_hook(lambda _, arguments, result: results.append(result))
        for name, part in model.named_modules()
        if name.split(".")[-1] == "ln_f"
    ]
    logits = model(tokens)
    for hook in hooks:
        hook.remove()
    weight = dict(model.named_parameters(remove_duplicate=False)).get("head.weight")
    if weight is None or not results:  # ln_f or the head is not a module
        return True
    right = results[0] @ weight.T
    return right.shape == logits.shape and torch.allclose(right, logits, rtol=1e-3, atol=1e-3)


class Descent:
    """Gradient descent with momentum, with the interface of torch's optimizers.

    A first step of torch's own optimizers imports torch's compiler, which takes a second.
    """

    def __init__(self, parameters, lr, momentum=0.0):
        self.defaults = {"lr": lr, "momentum": momentum}
        given = list(parameters)
        # Two groups, because all gradients must be clipped, and not those of the first group.
        self.param_groups = [
            {"params": part, **self.defaults} for part in (given[::2], given[1::2])
        ]
        self.state = {}

    def __repr__(self):
        """Return the expression that makes the same optimizer of torch, for a script."""
        options = ", ".join(f"{name}={value}" for name, value in self.defaults.items())
        return f"torch.optim.SGD(module.parameters(), {options})"

    def zero_grad(self, set_to_none=True):
        """Clear the gradients of all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none or parameter.grad is None:
                    parameter.grad = None
                else:
                    parameter.grad.zero_()

    @torch.no_grad()
    def step(self, closure=None):
        """Make a step for each parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    before = self.state.get(parameter, torch.zeros_like(parameter))
                    self.state[parameter] = group["momentum"] * before + parameter.grad
                    parameter -= group["lr"] * self.state[parameter]


def small_training(make, train_step, given):
    """Train a new model, and return the losses of all steps. The same seed gives the same model."""
    torch.manual_seed(0)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)  # float64 draws other numbers from the same seed
    model = make(given.vocab, 16, 2, 2, given.tokens.shape[1])
    torch.set_default_dtype(usual)
    optimizer = Descent(model.parameters(), lr=0.2, momentum=0.9)
    with torch.enable_grad():
        losses = [float(train_step(model, optimizer, given.tokens)) for _ in range(given.steps)]
    return {"losses": torch.tensor(losses)}


def training(implementation, train_step, given):
    """Make steps, and return the losses and the logits afterwards. Undo the steps at the end."""
    model = own_module(implementation)
    before = {name: value.detach().clone() for name, value in model.state_dict().items()}
    modes = [(module, module.training) for module in model.modules()]
    options = () if given.max_norm is None else (given.max_norm,)
    optimizer = Descent(model.parameters(), given.rate, given.momentum)
    for parameter in model.parameters():
        # a step must not use the gradients that another step has left
        parameter.grad = torch.full_like(parameter, 0.5)
    torch.manual_seed(0)
    try:
        model.eval()
        with torch.enable_grad():
            losses = [
                train_step(model, optimizer, given.tokens, *options) for _ in range(given.steps)
            ]
        types = " ".join(sorted({type(loss).__name__ for loss in losses}))
        found = {"type of the loss": types, "mode after the step": mode_of(model)}
        if given.only_mode:
            # with dropout, two steps of rate 0 have the same loss only if eval mode is on
            return found | {"losses differ": str(len(set(map(float, losses))) > 1)}
        model.eval()
        with torch.no_grad():
            logits = implementation(given.tokens)
        numbers = torch.tensor([float(loss) for loss in losses], dtype=logits.dtype)
        return {"losses": numbers, "logits": logits, **found}
    finally:
        with torch.no_grad():
            for name, value in model.state_dict().items():
                value.copy_(before[name])
        for parameter in model.parameters():
            parameter.grad = None
        for module, mode in modes:
            module.training = mode


def mode_of(model):
    """Return the mode of a model and all of its modules."""
    modes = {module.training for module in model.modules()}
    return "mixed" if len(modes) > 1 else "training" if True in modes else "eval"


def generation(model, generate, given):
    """Generate tokens; note whether gradients are recorded, and the mode before and after."""
    modes = [(module, module.training) for module in model.modules()]
    recorded = set()
    hooks = [
        module.register_forward_pre_hook(lambda *_: recorded.add(torch.is_grad_enabled()))
        for module in model.modules()
    ]
    try:
        model.train(given.training)
        before = mode_of(model)
        torch.manual_seed(0)
        with torch.enable_grad():
            tokens = generate(model, given.tokens, given.new)
            afterwards = str(torch.is_grad_enabled())
        return {
            "tokens": tokens,
            "records gradients": str(True in recorded),
            "gradients are on afterwards": afterwards,
            "mode of the model": f"{before} before generate(), {mode_of(model)} after it",
        }
    finally:
        for hook in hooks:
            hook.remove()
        for module, mode in modes:
            module.training = mode


def initial_values(model):
    """Return "as asked", or the first parameters whose initial values are not."""
    wrong = [
        f"{name} has {trouble}"
        for name, value in model.named_parameters()
        if (trouble := wrong_values(name, value.detach().double()))
    ]
    return "; ".join(wrong[:3]) or "as asked"


def wrong_values(name, value):
    """Return in words how the initial values of a parameter differ from the contract, or ""."""
    if value.dim() < 2:
        wanted = 0.0 if name.endswith("bias") else 1.0
        return "" if bool((value == wanted).all()) else f"other values than {wanted:.0f}"
    spread, mean = float(value.std()), float(value.mean())
    layer = name.split(".")[-2] if "." in name else name
    is_last = layer in ("o_proj", "out_proj", "c_proj", "proj", "W_o", "wo", "w_o")
    allowed = [SPREAD, SPREAD / (2 * LAYERS) ** 0.5] if is_last else [SPREAD]
    near = [wanted for wanted in allowed if 0.9 <= spread / wanted <= 1.1]
    if not near:
        return f"a standard deviation of {spread:.1g}"
    if abs(mean) > 0.1 * near[0]:
        return f"a mean of {mean:.1g}"
    far = float(((value - mean).abs() > 2 * spread).double().mean())
    # 4.6 % of normal values are more than two standard deviations away from the mean
    return "" if 0.03 < far < 0.062 else "values that are not normal"


class GptMaker(TokenMaker):
    """Make cases of one part of the file."""

    def __call__(
        self,
        name,
        *,
        part="model",
        inputs=None,
        parameters=None,
        layers=LAYERS,
        hidden=0.02,
        **more,
    ):
        """Return one case for a model with `layers` blocks and hidden values of this size."""
        given = {"part": part, **(inputs or {})}
        init = {"num_layers": layers, **more.pop("init", {})}
        quiet = dict(parameters or {})
        for layer in range(layers):
            width = self.with_products(more)["M"]
            quiet |= small_hidden(self.draw, f"blocks.{layer}.mlp", width, hidden)
        made = super().__call__(name, inputs=given, parameters=quiet, init=init, **more)
        return replace(made, part=part if part in PARTS else "model")


def maker(draw, inputs, outputs):
    """Return a maker of cases with these inputs and outputs."""
    return GptMaker(
        draw,
        init={"vocab_size": "V", "d_model": "M", "num_heads": "H", "max_seq_len": "T"},
        inputs=inputs,
        outputs=outputs,
        products={"M": "H D"},
    )


def cases(draw):
    """Yield the cases on which a submission runs."""
    model = maker(draw, {"tokens": "B L"}, {"logits": "B L V"})
    sizes = {"B": 2, "L": 5, "V": 13, "H": 3, "D": 4, "T": 9}
    yield from model_cases(model, sizes)
    yield from initial_cases(model)
    loss = maker(draw, {"logits": "B L V", "tokens": "B L"}, {"loss": ""})
    yield from loss_cases(loss, sizes)
    steps = maker(draw, {"tokens": "B L"}, {"losses": "steps", "logits": "B L V"})
    yield from training_cases(steps, sizes)
    new = maker(draw, {"tokens": "B L"}, {"tokens": "B (L P)"})
    yield from generation_cases(new, sizes)


def model_cases(case, sizes):
    """Yield cases of the model itself."""
    yield case("model: two blocks", **sizes)
    yield case("model: one block", layers=1, B=3, L=7, V=11, H=2, D=5, T=8)
    yield case("model: four blocks", layers=4, B=2, L=4, V=7, H=3, D=5, T=6)
    idle = {"layers": 1, "parameters": idle_block(12)}
    yield case("model: an idle block", **idle, **sizes)
    for hidden in (0.05, 0.1):
        yield case(f"model: hidden values near {hidden}", hidden=hidden, gradients=False, **sizes)
    yield case("model: as many tokens as positions", **{**sizes, "L": 9, "equal": "L T"})
    yield case("model: one token, one head", B=3, L=1, V=11, H=1, D=6, T=5)
    same = {"B": 4, "L": 4, "V": 4, "H": 4, "D": 4, "T": 4, "equal": "B L V H D T"}
    yield case("model: all sizes equal", **same)
    ranges = {"B": (2, 4), "L": (3, 7), "V": (9, 15), "H": (2, 5), "D": (3, 8), "T": (8, 12)}
    yield case("model: random sizes", **case.draw.sizes(**ranges))
    yield from (
        replace(found, name=f"model: {found.name}") for found in suites.dtypes(case, **sizes)
    )
    repeated = {"inputs": {"tokens": torch.full((2, 5), 3)}}
    yield case("model: one token repeated", **repeated, **sizes)
    later = {"later_tokens": case.draw.integers(3, 8, low=0, high=13)}
    outputs = {"logits": "B L V", "later_logits": "C K V"}
    sized = {**sizes, "more_sizes": {"C": 3, "K": 8}, "check": "properties"}
    yield case("model: more tokens afterwards", inputs=later, outputs=outputs, **sized)
    yield case("model: tokens in other memory", layout="transposed", check="properties", **sizes)
    yield case("model: training mode, dropout 0", mode="train", check="train/eval", **sizes)
    yield case(
        "model: eval mode, dropout 0.4", init={"dropout": DROPOUT}, check="train/eval", **sizes
    )
    drops = ("dropout", TURNS)
    yield plainly(case, "model: training, eval and training mode, dropout 0.4", *drops, sizes)
    # Only the dropout after the embeddings is left.
    for words, name, rows in (("token", "tok_emb", 13), ("position", "pos_emb", 9)):
        weights = idle["parameters"] | {f"{name}.weight": torch.zeros(rows, 12)}
        name = f"model: training mode, dropout 0.4, {words} embeddings of 0, an idle block"
        yield plainly(case, name, *drops, {**sizes, **idle, "parameters": weights})
    name = "model: training mode, dropout 0.4, branches apart"
    single = {**sizes, "B": 64, "L": 3, "H": 6, "D": 2, "layers": 1, "hidden": 1.0}
    apart = branches_apart(case.draw, 1, tok_emb=13, pos_emb=9)
    words = (*branch_words(1), READS)
    yield plainly(case, name, "factors", words, {**single, "parameters": apart})
    # This probability drops nothing, so the results are those of eval mode.
    rare = {"mode": "train", "init": {"dropout": 1e-9}, "check": "train/eval"}
    yield case("model: training mode, dropout 1e-9", **rare, **sizes)
    steep = {"layers": 1, "parameters": own_scores_far_below_zero(case.draw, 12)}
    steep["dtype"] = "float64"
    yield case("model: own scores near -100", gradients=False, **steep, **sizes | {"B": 6})
    small = {"B": 2, "L": 5, "V": 7, "H": 3, "D": 4, "T": 40}
    yield from suites.growth(case, "everything", small, {"B": 8, "L": 33, "H": 6, "V": 11})


def idle_block(width):
    """Return weights with which the first block adds zeros to its input."""
    of_inputs = {"attn.o_proj": width, "mlp.proj": 4 * width}
    return {
        f"blocks.0.{layer}.{name}": value
        for layer, inputs in of_inputs.items()
        for name, value in (("weight", torch.zeros(width, inputs)), ("bias", torch.zeros(width)))
    }


def plainly(case, name, part, words, sizes):
    """Return a case with dropout whose outputs are words."""
    made = case(
        name,
        part=part,
        outputs={},
        init={"dropout": DROPOUT},
        check="train/eval",
        gradients=False,
        **sizes,
    )
    return replace(made, plain=dict.fromkeys(words, "str"))


def initial_cases(case):
    """Yield a large model whose initial values are described in words."""
    sizes = {"B": 1, "L": 2, "V": 211, "H": 6, "D": 16, "T": 73}
    made = case("model: initial values", part="initial", outputs={}, gradients=False, **sizes)
    yield replace(made, plain={"initial values": "str"}, parameters={}, initial=True)


def loss_cases(case, sizes):
    """Yield cases of the loss alone."""
    yield case("loss: two sequences", part="loss", **sizes)
    yield case("loss: two tokens", part="loss", **{**sizes, "B": 6, "L": 2})
    yield case("loss: one sequence", part="loss", **{**sizes, "B": 1, "L": 8})
    same = {"B": 5, "L": 5, "V": 5, "equal": "B L V"}
    yield case("loss: all sizes equal", part="loss", **{**sizes, **same})
    for dtype in ("float64", "bfloat16"):
        yield case(f"loss: {dtype}", part="loss", dtype=dtype, **sizes)
    logits = 1e4 * case.draw.normal(2, 5, 13).sign()
    steep = {"inputs": {"logits": logits}, "gradients": False}
    yield case("loss: logits of 1e4", part="loss", **steep, **sizes)
    yield case(
        "loss: parts of larger tensors", part="loss", layout="strided", check="properties", **sizes
    )


def training_cases(case, sizes):
    """Yield training steps: gradients clipped and not, several steps, dropout."""

    def steps(name, count=2, rate=0.5, max_norm=None, momentum=0.0, only_mode=False, **more):
        inputs = {
            "steps": count,
            "rate": rate,
            "max_norm": max_norm,
            "momentum": momentum,
            "only_mode": only_mode,
        }
        outputs = {} if only_mode else {"losses": "steps", "logits": "B L V"}
        made = case(
            f"training step: {name}",
            part="training step",
            inputs=inputs,
            outputs=outputs,
            more_sizes={"steps": count},
            gradients=False,
            **{**sizes, **more},
        )
        plain = {"type of the loss": "str", "mode after the step": "str"}
        plain |= {"losses differ": "str"} if only_mode else {}
        return replace(made, plain=plain)

    yield steps("one step", count=1)
    yield steps("gradients larger than max_norm 0.1", max_norm=0.1)
    yield steps("gradients smaller than max_norm 1000", max_norm=1000.0, rate=0.05)
    yield steps("three steps with momentum", count=3, rate=0.1, momentum=0.9)
    yield steps("float64", dtype="float64", B=5, L=6)
    # A line with a wrong size raises an exception in most cases. In these two it may run, so
    # that the other mistakes of a bug hunt show next to it.
    same = {"B": 4, "L": 4, "V": 4, "H": 4, "D": 4, "T": 4, "equal": "B L V H D T"}
    yield steps("all sizes equal", **same)
    yield steps("one head, three sequences", B=3, H=1, D=12)
    yield steps(
        "dropout 0.4", rate=0.0, only_mode=True, init={"dropout": DROPOUT}, check="train/eval"
    )


def generation_cases(case, sizes):
    """Yield generations in float64, so that no two logits are equal up to rounding.

    A wrong context may give the right token by luck, so there are many sequences.
    """

    def new(name, count=3, training=False, **more):
        inputs = {"new": count, "training": training}
        more = {"B": 17, "V": 31, **more}
        made = case(
            f"generation: {name}",
            part="generation",
            inputs=inputs,
            outputs={"tokens": "B length"},
            more_sizes={"length": {**sizes, **more}["L"] + count, "P": count},
            dtype="float64",
            gradients=False,
            **{**sizes, **more},
        )
        words = ("records gradients", "gradients are on afterwards", "mode of the model")
        return replace(made, plain=dict.fromkeys(words, "str"))

    yield new("three tokens")
    yield new("one token, one sequence", count=1, B=1)
    yield new("no token", count=0)
    yield new("no token, from training mode", count=0, training=True)
    weights = tokens_0_and_5_in_turn(31, 12, 9)
    yield new("tokens 0 and 5 in turn", count=4, B=1, layers=1, parameters=weights)
    yield new("past the last position", count=4, T=7)
    yield new("a prompt longer than max_seq_len", count=2, L=8, T=6)
    yield new("a prompt of one token", L=1, count=4)
    same = {"B": 4, "L": 4, "V": 4, "H": 4, "D": 4, "T": 4, "equal": "B L V H D T"}
    yield new("all sizes equal", count=1, **same)
    yield new("one head, three sequences", B=3, H=1, D=12)
    yield new(
        "from training mode, dropout 0.4",
        count=2,
        training=True,
        init={"dropout": DROPOUT},
        check="train/eval",
    )


def tokens_0_and_5_in_turn(vocabulary, width, positions):
    """Return weights with which the model predicts 5 after token 0, and 0 after other tokens."""
    signs = torch.ones(width)
    signs[::2] = -1
    embeddings = -signs.repeat(vocabulary, 1)
    embeddings[0] = signs
    rows = torch.zeros(vocabulary, width)
    rows[0], rows[5] = -signs, signs
    return idle_block(width) | {
        "tok_emb.weight": embeddings,
        "pos_emb.weight": torch.zeros(positions, width),
        "ln_f.weight": torch.ones(width),
        "ln_f.bias": torch.zeros(width),
        "head.weight": rows,
    }


def training_run(draw):
    """Return a small training: each sequence repeats its first three tokens."""
    tokens = draw.integers(24, 3, high=11).repeat(1, 4)
    return Case(
        "a small training",
        inputs={"part": "small training", "tokens": tokens, "vocab": 11, "steps": 100},
        dims={"losses": "steps"},
        sizes={"steps": 100},
        init={"vocab_size": 3, "d_model": 2, "num_heads": 1, "num_layers": 1, "max_seq_len": 2},
        gradients=False,
    )


def refusals():
    """Yield sizes and lengths that must be refused."""
    rest = {"vocab_size": 11, "num_layers": 1, "max_seq_len": 5}
    yield from bad_heads(**rest)
    init = {**rest, "d_model": 6, "num_heads": 2}
    tokens = torch.zeros(2, 6, dtype=torch.int64)
    yield Refusal(
        "there are 6 tokens, but max_seq_len is 5",
        {"part": "model", "tokens": tokens},
        init=init,
        only_value_error=True,
        shown_call="MiniGPT.forward(tokens [2, 6])",
    )


def realistic():
    """Return the call that is measured after a pass: GPT-2 small."""
    return realistic_call(
        "GPT-2 small, B = 1, L = 256",
        init={
            "vocab_size": 50257,
            "d_model": 768,
            "num_heads": 12,
            "num_layers": 12,
            "max_seq_len": 1024,
        },
        part="model",
        tokens=shaped(1, 256, dtype="int64"),
    )
