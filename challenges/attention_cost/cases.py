"""Cases for the costs of attention: small integers, and some beyond 2**53."""

from attn_drill.casekit import Case


def drive(cost, given):
    """Call the function that the case names, with options as keywords."""
    arguments = {name: value for name, value in given.inputs.items() if name != "function"}
    named = [name for name in ("bias", "bytes_per_element") if name in arguments]
    options = {name: arguments.pop(name) for name in named}
    return {given.function: getattr(cost, given.function)(*arguments.values(), **options)}


def maker(function, names):
    """Return a function that makes cases for `function`. `names` are its required arguments."""

    def case(name, *sizes, **options):
        arguments = dict(zip(names.split(), sizes, strict=True)) | options
        inputs = {"function": function, **arguments}
        plain = {function: "int"}
        return Case(name, inputs, dims={}, sizes={}, plain=plain, gradients=False)

    return case


def cases(draw):
    """Yield the cases on which a submission runs."""
    params = maker("attention_params", "d_model num_heads num_kv_heads")
    cache = maker("kv_cache_bytes", "batch seq_len num_layers num_kv_heads head_dim")
    latent = maker("mla_cache_bytes", "batch seq_len num_layers kv_rank rope_dim")
    flops = maker("attention_flops", "batch q_len k_len d_model num_heads num_kv_heads")
    yield params("parameters of a small layer", 24, 6, 2)
    yield params("parameters with biases", 24, 6, 2, bias=True)
    yield params("parameters, biases declined by name", 40, 4, 2, bias=False)
    yield params("parameters of multi-head attention, with biases", 42, 7, 7, bias=True)
    yield params("parameters of multi-query attention", 42, 7, 1)
    yield params("parameters of multi-query attention, with biases", 42, 7, 1, bias=True)
    yield params("parameters of one head", 10, 1, 1, bias=True)
    yield params("parameters of a Llama 3 70B layer", 8192, 64, 8)
    yield params("parameters beyond 2**53", 3 * 2**28 + 3, 3, 1, bias=True)
    yield cache("cache of a small model", 2, 7, 3, 5, 11)
    yield cache("cache in float32", 2, 7, 3, 5, 11, bytes_per_element=4)
    yield cache("cache in 8 bits, one key/value head", 3, 10, 5, 1, 16, bytes_per_element=1)
    yield cache("cache of one token of one sequence, one layer", 1, 1, 1, 3, 8)
    yield cache("cache of Llama 3 70B, 8192 tokens", 1, 8192, 80, 8, 128)
    yield cache("cache beyond 2**53", 100003, 1000003, 97, 13, 257, bytes_per_element=4)
    yield latent("latent cache of a small model", 2, 7, 3, 11, 5)
    yield latent("latent cache in float32", 2, 7, 3, 11, 5, bytes_per_element=4)
    yield latent("latent cache in 8 bits", 3, 5, 4, 6, 2, bytes_per_element=1)
    yield latent("latent cache of one token", 1, 1, 1, 6, 4)
    yield latent("latent cache of DeepSeek-V2, 32768 tokens", 1, 32768, 60, 512, 64)
    yield latent("latent cache beyond 2**53", 100003, 10000019, 97, 521, 68, bytes_per_element=4)
    yield flops("FLOPs of a chunk on a past", 2, 5, 9, 24, 6, 3)
    yield flops("FLOPs of a prefill", 3, 7, 7, 20, 5, 1)
    yield flops("FLOPs of a decode step", 2, 1, 13, 24, 4, 4)
    yield flops("FLOPs of one token without a past", 1, 1, 1, 12, 3, 1)
    yield flops("FLOPs of more queries than keys", 2, 11, 3, 30, 6, 2)
    yield flops("FLOPs of a Llama 3 70B layer, prefill of 8192 tokens", 1, 8192, 8192, 8192, 64, 8)
    # Each product of a single sequence is beyond 2**53, too.
    yield flops("FLOPs beyond 2**53", 3, 3000011, 6000013, 3 * 10091, 3, 1)
    name = "FLOPs beyond 2**53, most of them in the projections"
    yield flops(name, 3, 11, 20011, 3 * 2**25 + 21, 3, 1)
    size, heads, groups, batch, layers = draw.distinct((5, 9), (2, 4), (2, 4), (2, 30), (2, 30))
    tokens, keys, rank, rope = draw.distinct((3, 90), (91, 500), (5, 80), (2, 60))
    d_model, num_heads = size * heads * groups, heads * groups
    yield params("random sizes, parameters", d_model, num_heads, heads, bias=True)
    yield cache("random sizes, cache", batch, tokens, layers, heads, size)
    yield latent("random sizes, latent cache", batch, tokens, layers, rank, rope)
    yield flops("random sizes, FLOPs", batch, tokens, keys, d_model, num_heads, heads)
