"""The transformer of The Art of Transformer Programming (its figure 1.1), which all its programs share: what of it is
not the default of `Config`. Its layer norm divides by the standard deviation plus 1e-10; an eps of 1e-20 under the root
does the same wherever the deviation is not itself as small as that."""

from typing import Any

BOOK: dict[str, Any] = {"activation": "relu", "eps": 1e-20, "biases": ("mlp",)}
