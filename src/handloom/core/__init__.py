"""The machine: what a transformer is (Config, Params, Vocab, Model), what it computes (the engines), how it generates
from a prompt (generate), how it is saved (files), counted, and changed without changing its function (transforms).

Public: the names below. Other rooms also use what the modules define; nothing else in them is promised to users.
"""

from handloom.core import merging, params, transforms
from handloom.core.config import Config
from handloom.core.counting import ParameterCount, count
from handloom.core.decoding import generate
from handloom.core.engines import choose_engine
from handloom.core.errors import HandloomError
from handloom.core.files import save
from handloom.core.finding import load
from handloom.core.model import Model
from handloom.core.params import Params
from handloom.core.scoring import Score, score
from handloom.core.sites import sites
from handloom.core.trace import Trace, trace
from handloom.core.vocab import Vocab

__all__ = [
    "Config",
    "HandloomError",
    "Model",
    "ParameterCount",
    "Params",
    "Score",
    "Trace",
    "Vocab",
    "choose_engine",
    "count",
    "generate",
    "load",
    "merging",
    "params",
    "save",
    "score",
    "sites",
    "trace",
    "transforms",
]
