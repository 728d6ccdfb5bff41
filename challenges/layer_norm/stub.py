import torch


def layer_norm(x, weight, bias, eps=1e-5):
    """Normalise every row of x to mean 0 and variance 1, then scale and shift its features.

    x [..., D] with one leading dim or more, weight [D], bias [D], all of one dtype.
    The variance is divided by D. Mean and variance are computed in float32 or finer.
    -> [..., D], the dtype of x.
    """
    # 1. Cast x to float32, unless its dtype is finer. -> [..., D]
    # 2. Take the mean of each row, and keep the axis. -> [..., 1]
    # 3. Subtract it. -> [..., D]
    # 4. Take the mean of the squares: this is the variance. -> [..., 1]
    # 5. Divide by the root of variance plus eps. -> [..., D]
    # 6. Multiply with the weight. -> [..., D]
    # 7. Add the bias. -> [..., D]
    # 8. Return the result in the dtype of x. -> [..., D]
    raise NotImplementedError


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    """Return the gradients of layer_norm by formulas, without automatic differentiation.

    x [..., D], weight [D], grad_out [..., D], the gradient of the output.
    -> (dx [..., D], dweight [D], dbias [D]), the dtype of x.
    """
    # 1. Choose float32, or the dtype of x if it is finer. -> dtype
    # 2. Compute the variance and the mean of each row again. -> [..., 1], [..., 1]
    # 3. Take one over the root of variance plus eps. -> [..., 1]
    # 4. Normalise x again. -> [..., D]
    # 5. Cast the gradient of the output, and list all axes except the last. -> [..., D], axes
    # 6. Sum over these axes: the gradient of the bias. -> [D]
    # 7. Sum the products with the normalised x: the gradient of the weight. -> [D]
    # 8. Multiply with the weight: the gradient of the normalised x. -> [..., D]
    # 9. Subtract the term through the mean and the term through the variance, and divide by the
    #    root. -> [..., D]
    # 10. Return all three in the dtype of x. -> tuple
    raise NotImplementedError
