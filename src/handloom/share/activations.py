"""What Hugging Face calls the activations, both ways."""

from typing import Any

from handloom.core import HandloomError
from handloom.core.errors import shown

THEIR_NAME = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu", "none": "linear"}
OUR_NAME = {theirs: ours for ours, theirs in THEIR_NAME.items()} | {"swish": "silu"}
OUR_NAME |= dict.fromkeys(("gelu_tanh", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast"), "gelu_tanh")


def activation_of(name: Any) -> Any:
    """Our name of an activation that computes the same."""
    if not isinstance(name, str) or name not in OUR_NAME:
        raise HandloomError(
            f"activation {shown(name)} is not one that handloom has (expected one of {', '.join(OUR_NAME)})"
        )
    return OUR_NAME[name]
