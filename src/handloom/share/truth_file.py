"""truth.json: the true circuit of a model beside its exported weights, with indices and vectors of those weights.

A wider stream holds the mean of the others in its new dimensions (`pad_with_mean`): what is written has its mean there,
and what is read ignores them. Other changes of the stream leave no vectors, and a line that says so.
"""

import json
from typing import Any

import numpy as np

from handloom.core import HandloomError, Model
from handloom.core.arrays import Array
from handloom.core.errors import one_line
from handloom.core.transforms.circuit_notes import with_vectors

TRUTH = "truth.json"
LEFT_OUT = "left out: the stream of the exported weights is another one"


def truth_text(model: Model, exported: Model) -> str | None:
    """The content of truth.json, if the notes of a model have its truth."""
    if "truth" not in model.notes:
        return None
    try:
        truth = exported_truth(model, exported)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HandloomError(f"the truth in the notes of the model is damaged: {one_line(error)}") from error
    return json.dumps(truth, ensure_ascii=False) + "\n"


def exported_truth(model: Model, exported: Model) -> dict[str, Any]:
    truth, more = model.notes["truth"], exported.config.d_model - model.config.d_model
    if model.config.norm == exported.config.norm == "layer":

        def read(vector: Array) -> Array:
            return np.append(vector, np.zeros(more))

        def write(vector: Array) -> Array:
            return np.append(vector, np.full(more, vector.mean()))

        return with_vectors(truth, read, write)
    if model.config.norm == exported.config.norm and not more:
        return dict(truth)
    variables = [
        {name: value for name, value in variable.items() if name not in ("reads", "writes", "scale")}
        for variable in truth["variables"]
    ]
    return {**truth, "variables": variables, "vectors": LEFT_OUT}
