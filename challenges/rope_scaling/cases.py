"""Cases for scaled rotary frequencies: a larger base (NTK), and a ramp over the pairs (YaRN)."""

import math
from dataclasses import dataclass

import torch

from attn_drill.casekit import CaseMaker
from attn_drill.worker.returns import UnexpectedReturnError, describe, unpack

# Slow pairs have tiny frequencies, so each frequency is also compared with its unscaled value.
RELATIVE = "inv_freq * base**(2i/D)"
BETAS = ("beta_fast", "beta_slow")


def drive(scaling, given):
    """Call one of the two functions. Leave out the betas that are not given."""
    inputs = given.inputs
    required = inputs["head_dim"], inputs["base"], inputs["scale"]
    if inputs["function"] == "ntk_inv_freq":
        return both_forms(scaling.ntk_inv_freq(*required), inputs)
    options = {name: inputs[name] for name in BETAS if name in inputs}
    made = scaling.yarn_inv_freq(*required, inputs["original_max_len"], **options)
    inv_freq, factor = unpack(made, "inv_freq", "attention factor")
    return both_forms(inv_freq, inputs) | {"attention factor": as_tensor(factor)}


def both_forms(inv_freq, inputs):
    """Return the frequencies, and their ratio to the frequencies without scaling."""
    D, base = inputs["head_dim"], inputs["base"]
    outputs = {"inv_freq": inv_freq, RELATIVE: inv_freq}
    if isinstance(inv_freq, torch.Tensor) and inv_freq.shape == (D // 2,):
        exponents = torch.arange(0, D, 2, dtype=torch.float64) / D
        outputs[RELATIVE] = (inv_freq.double() * base**exponents).float()
    return outputs


def as_tensor(factor):
    """Return the attention factor as a tensor. A tensor instead of a float is refused."""
    if not isinstance(factor, float) and type(factor) is not int:
        raise UnexpectedReturnError(
            f"the attention factor must be a float, but it is {describe(factor)}"
        )
    return torch.tensor(float(factor))


@dataclass(frozen=True)
class FunctionMaker(CaseMaker):
    """Make the cases of one function."""

    function: str = ""

    def __call__(self, name, *, D, **arguments):
        """Return one case, whose name begins with the function."""
        words = f"{self.function.removesuffix('_inv_freq')}: {name}"
        inputs = {"function": self.function, "head_dim": D, **arguments}
        sizes = {"D/2": D // 2, "D": D}
        return super().__call__(words, inputs=inputs, gradients=False, **sizes)


def cases(draw):
    """Yield the cases on which a submission runs."""
    outputs = {"inv_freq": "D/2", RELATIVE: "D/2"}
    ntk = FunctionMaker(draw, inputs={}, outputs=outputs, function="ntk_inv_freq")
    outputs = outputs | {"attention factor": ""}
    yarn = FunctionMaker(draw, inputs={}, outputs=outputs, function="yarn_inv_freq")
    yield from ntk_cases(ntk, draw)
    yield from yarn_cases(yarn, draw)


def ntk_cases(case, draw):
    """Yield small and large heads, bases and scales. Several cases differ in one argument only."""
    yield case("4 features", D=4, base=10000.0, scale=4.0)
    yield case("6 features", D=6, base=10000.0, scale=4.0)
    yield case("16 features", D=16, base=10000.0, scale=4.0)
    yield case("16 features, another scale", D=16, base=10000.0, scale=10.0)
    yield case("16 features, another base", D=16, base=500.0, scale=4.0)
    yield case("a scale of 1 changes nothing", D=16, base=500.0, scale=1.0)
    yield case("a scale of 0.5", D=16, base=500.0, scale=0.5)
    yield case("a scale of 2.5, an odd number of pairs", D=14, base=1000.0, scale=2.5)
    yield case("64 features, a scale of 40", D=64, base=10000.0, scale=40.0)
    yield case("a head of Llama 3, a scale of 8", D=128, base=500000.0, scale=8.0)
    half, base, scale = draw.distinct((3, 40), (50, 50000), (2, 30))
    yield case("random sizes", D=2 * half, base=float(base), scale=float(scale))


def yarn_cases(case, draw):
    """Yield ramps in the middle of the pairs, at both ends, and of width 0."""
    usual = {"D": 16, "base": 1000.0, "scale": 4.0, "original_max_len": 4096}
    yield case("16 features", **usual)
    yield case("16 features, another scale", **usual | {"scale": 10.0})
    yield case("16 features, another base", **usual | {"base": 300.0})
    yield case("16 features, another length", **usual | {"original_max_len": 1500})
    yield case("12 features", **usual | {"D": 12})
    yield case("beta_fast=20, beta_slow=3", beta_fast=20.0, beta_slow=3.0, **usual)
    yield case("beta_fast=150", beta_fast=150.0, **usual)
    yield case("beta_slow=5", beta_slow=5.0, **usual)
    llama = {"D": 128, "base": 10000.0, "original_max_len": 4096}
    yield case("a head of Llama 2, a scale of 16", scale=16.0, **llama)
    rotary = {"D": 64, "base": 10000.0, "original_max_len": 4096}
    yield case("the rotary part of DeepSeek-V3, a scale of 40", scale=40.0, **rotary)
    long = {"D": 128, "base": 500000.0, "original_max_len": 8192}
    yield case("a head of Llama 3, a scale of 2.5", scale=2.5, **long)
    yield case("a scale of 1 changes nothing", **usual | {"scale": 1.0})
    yield case("a scale of 0.5", **usual | {"scale": 0.5})
    yield case("a scale of 1.2", **usual | {"scale": 1.2})
    yield from ends_of_the_ramp(case)
    while True:
        half, base, length = draw.distinct((8, 40), (500, 50000), (1000, 60000))
        inputs = {"D": 2 * half, "base": float(base), "original_max_len": length}
        ends = [pair(beta, **inputs) for beta in (32.0, 1.0)]
        if all(abs(end - round(end)) > 0.02 for end in ends) and 0 < ends[0] < ends[1] < half:
            break
    (scale,) = draw.distinct((2, 30))
    yield case("random sizes", scale=float(scale), **inputs)


def ends_of_the_ramp(case):
    """Yield ramps that begin before the first pair, end after the last, or have the width 0."""
    # Without the limit, the ramp would begin at the pair -2.
    early = {"D": 16, "base": 10000.0, "scale": 4.0, "original_max_len": 60}
    yield case("the ramp begins at pair 0", **early)
    # The ramp begins at the pair 4 and would end at 17. The last pair has the number 7.
    late = {"D": 16, "base": 100.0, "scale": 4.0, "original_max_len": 65536, "beta_fast": 1000.0}
    yield case("the ramp ends at D - 1", **late)
    middle = late | {"original_max_len": 6000, "beta_fast": 100.0}
    yield case("the ramp ends between D/2 and D - 1", **middle)
    # All pairs rotate less often than beta_slow, so both ends are the pair 0.
    no_width = {"D": 8, "base": 10000.0, "scale": 4.0, "original_max_len": 16, "beta_slow": 4.0}
    yield case("both ends of the ramp are pair 0", **no_width)
    yield case("both ends of the ramp are pair 0, 4 features", **no_width | {"D": 4})
    steep = {"D": 8, "base": 10000.0, "scale": 8.0, "original_max_len": 1000, "beta_fast": 1.5}
    yield case("a ramp of one step", **steep)


def pair(rotations, D, base, original_max_len):
    """Return the pair, with a fraction, that rotates this often within the trained length."""
    return D * math.log(original_max_len / (2 * math.pi * rotations)) / (2 * math.log(base))
