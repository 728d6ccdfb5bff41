"""Cases for the gradients of a product: all ways to broadcast, small sizes, equal sizes."""

from dataclasses import replace

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped, suites
from attn_drill.worker.returns import unpack

GRADIENTS = ("da", "db")
# Leading dims of a, of b and of the result. All pairs of missing dims, dims of 1 and full dims.
WAYS = (
    ("B", "", "B"),
    ("", "B", "B"),
    ("B H", "", "B H"),
    ("A B H", "", "A B H"),
    ("", "A B H", "A B H"),
    ("", "B H", "B H"),
    ("H", "B H", "B H"),
    ("B H", "H", "B H"),
    ("1", "B", "B"),
    ("B", "1", "B"),
    ("B 1", "B H", "B H"),
    ("B H", "B 1", "B H"),
    ("1 H", "B H", "B H"),
    ("B H", "1 H", "B H"),
    ("1 1", "B H", "B H"),
    ("B H", "1 1", "B H"),
    ("B 1", "H", "B H"),
    ("H", "B 1", "B H"),
    ("B 1", "1 H", "B H"),
    ("1", "", "1"),
    ("1", "1", "1"),
    ("1 1", "B", "1 B"),
    ("A 1 H", "B 1", "A B H"),
    ("A 1 B 1", "C 1 H", "A C B H"),
    ("B 1", "A 1 H", "A B H"),
)


def drive(matmul_backward, given):
    """Call once, or twice. The input `leaves` asks which inputs require a gradient afterwards."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = call(matmul_backward, given.inputs)
    if later:
        again = call(matmul_backward, later)
        outputs |= {f"later_{name}": gradient for name, gradient in again.items()}
    if "leaves" in given.inputs:
        leaves = [name for name in ("a", "b", "grad_out") if given.inputs[name].requires_grad]
        outputs["inputs that require a gradient"] = ", ".join(leaves) or "none"
    return outputs


def call(matmul_backward, inputs):
    """Return the two gradients by name. The name of an input means the same tensor."""
    named = [inputs[name] for name in ("a", "b", "grad_out")]
    tensors = [inputs[value] if isinstance(value, str) else value for value in named]
    return dict(zip(GRADIENTS, unpack(matmul_backward(*tensors), *GRADIENTS), strict=True))


class ProductMaker(CaseMaker):
    """Make cases. The gradients are results here, so no gradients of them are compared."""

    def __call__(self, name, **more):
        """Return one case. "1" in the dims of an output needs a size, like a letter."""
        of_one = {"1": 1} if "1" in " ".join(self.outputs.values()).split() else {}
        return super().__call__(name, gradients=False, more_sizes=of_one, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""

    def maker(a, b, out):
        a, b = f"{a} n k".strip(), f"{b} k m".strip()
        inputs = {"a": a, "b": b, "grad_out": f"{out} n m".strip()}
        return ProductMaker(draw, inputs=inputs, outputs={"da": a, "db": b})

    plain, batched = maker("", "", ""), maker("B", "B", "B")
    shared, crossed = maker("B H", "", "B H"), maker("B 1", "H", "B H")
    yield plain("two matrices", n=4, k=3, m=5)
    yield batched("a batch of products", B=2, n=4, k=3, m=5)
    for a, b, out in WAYS:
        letters = {"A": 4, "B": 2, "C": 8, "H": 3, "n": 5, "k": 6, "m": 7}
        used = set(f"{a} {b} n k m".split())
        sizes = {letter: size for letter, size in letters.items() if letter in used}
        yield maker(a, b, out)(f"a {words(a, 'n k')}, b {words(b, 'k m')}", **sizes)
    yield from small_sizes(plain, shared, crossed, maker)
    yield from equal_sizes(plain, batched, maker)
    ranges = {"B": (2, 4), "H": (2, 6), "n": (3, 9), "k": (3, 9), "m": (3, 9)}
    yield crossed("random sizes", **draw.sizes(**ranges))
    sizes = {"B": 2, "H": 3, "n": 4, "k": 5, "m": 6}
    for dtype in ("float64", "bfloat16"):
        yield crossed(f"{dtype}, both broadcast", dtype=dtype, **sizes)
        yield shared(f"{dtype}, one b for all", dtype=dtype, **sizes)
    yield plain("float64, two matrices", dtype="float64", n=4, k=3, m=5)
    for name, case in (("a and b", "B H"), ("a", "")):
        of_b = maker("B H", case, "B H")
        for each in suites.layouts(of_b, **sizes):
            yield replace(each, name=f"{each.name}, {name} with leading dims")
    again = {"check": "properties", **sizes}
    yield crossed("the same sizes again", later=SecondCall(), **again)
    yield shared("larger sizes afterwards", later=SecondCall(sizes={"B": 7, "n": 8}), **again)
    afterwards = crossed("inputs of no graph", inputs={"leaves": 1}, **again)
    yield replace(afterwards, plain={"inputs that require a gradient": "str"})
    small, large = (
        {"B": 2, "H": 3, "n": 4, "k": 5, "m": 6},
        {"B": 9, "H": 10, "n": 11, "k": 12, "m": 13},
    )
    yield from suites.growth(crossed, "everything, both broadcast", small, large)
    yield from suites.growth(shared, "everything, one b for all", small, large)
    matrices = (
        {letter: small[letter] for letter in "nkm"},
        {letter: large[letter] for letter in "nkm"},
    )
    yield from suites.growth(plain, "everything, two matrices", *matrices)
    several = ({"B": 2, **matrices[0]}, {"B": 9, **matrices[1]})
    yield from suites.growth(batched, "everything, a batch of products", *several)
    yield from suites.growth(maker("B", "", "B"), "everything, B times a and one b", *several)
    yield from suites.growth(maker("", "B", "B"), "everything, one a and B times b", *several)


def words(leading, matrix):
    """Return the shape of an operand in words, e.g. `[B, 1, n, k]`."""
    return f"[{', '.join(f'{leading} {matrix}'.split())}]"


def small_sizes(plain, shared, crossed, maker):
    """Yield sizes of 1, also in the dims of the matrices, and in a batch that is not broadcast."""
    yield plain("one row", n=1, k=4, m=3)
    yield plain("one column", n=5, k=3, m=1)
    yield plain("an outer product", n=5, k=1, m=4)
    yield plain("all sizes 1", n=1, k=1, m=1)
    yield shared("one batch item", B=1, H=4, n=3, k=5, m=2)
    yield crossed("one column and k = 1, both broadcast", B=2, H=3, n=5, k=1, m=1)
    batch = maker("B H", "B H", "B H")
    yield batch("every dim of 1 on both sides", B=1, H=1, n=4, k=3, m=5)


def equal_sizes(plain, batched, maker):
    """Yield sizes that coincide, so that a wrong axis or a missing transpose keeps the shapes."""
    yield plain("square matrices", n=4, k=4, m=4, equal="n k m")
    same = {"b": "a", "grad_out": "a"}
    yield plain("one tensor for all inputs", inputs=same, n=4, k=4, m=4, equal="n k m")
    yield batched("as many products as rows", B=4, n=4, k=3, m=5, equal="B n")
    cube = {"B": 3, "n": 3, "k": 3, "m": 3, "equal": "B n k m"}
    yield batched("all sizes equal", **cube)
    yield maker("B", "", "B")("all sizes equal, one b for all", **cube)
    yield maker("", "B", "B")("all sizes equal, one a for all", **cube)
    sizes = {"B": 4, "H": 4, "n": 3, "k": 5, "m": 2, "equal": "B H"}
    for a, b in (("H", "B H"), ("B H", "H"), ("B 1", "H"), ("1 H", "B H"), ("B H", "B 1")):
        name = f"B = H: a {words(a, 'n k')}, b {words(b, 'k m')}"
        yield maker(a, b, "B H")(name, **sizes)


def realistic():
    """Return the call that is measured after a pass: the first layer of an MLP of GPT-2 small."""
    return realistic_call(
        "the MLP of GPT-2 small, B = 8, L = 1024",
        a=shaped(8, 1024, 768),
        b=shaped(768, 3072),
        grad_out=shaped(8, 1024, 3072),
    )
