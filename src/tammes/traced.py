"""Whether torch traces or transforms a call, so that no number in a tensor may be read or written."""

import torch


def is_transformed() -> bool:
    """Return whether a transformation of `torch.func` (grad, hessian, vmap, ...) runs, and no compiler.

    Example:
        >>> torch.func.grad(lambda x: x * is_transformed())(torch.tensor(2.0))
        tensor(1.)
    """
    return not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()


def is_traced() -> bool:
    """Return whether `torch.compile` traces the call, or a transformation of `torch.func` runs it.

    Example:
        >>> is_traced()
        False
    """
    return torch.compiler.is_compiling() or is_transformed()
