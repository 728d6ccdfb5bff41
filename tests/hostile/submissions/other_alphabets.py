# Right; uses names in many alphabets, one of them in two notations.
# of: prefix-sum
# family: right: unusual text
# verdict: passed


def 累積和(ｘ, 逆=False):
    Σ, ﬁrst = ｘ.flip(-1) if 逆 else ｘ, True
    Σ = Σ.cumsum(-1)
    if first:  # the ligature above is the same name
        return Σ.flip(-1) if 逆 else Σ


def prefix_sum(x, reverse=False):
    "∑ ₀ⁱ \N{SNOWMAN} 🧮"
    return 累積和(x, 逆=reverse)
