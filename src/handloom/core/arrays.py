"""The types of arrays, in one place: `Array` is any NumPy array, `Arrays` are arrays by name."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
