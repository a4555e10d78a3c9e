"""Handloom, a workbench for small transformers: write one by hand, train one, take either apart.

    import handloom as hl

    model = hl.program("hello")             # a transformer written by hand
    model()                                 # 'Hello World!'
    trace = hl.trace(model, "H")            # everything it computes on the way
    hl.save(model, "hello.safetensors")

Names are loaded when they are first used, so that importing handloom costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from handloom import read as read
    from handloom.core import Config as Config
    from handloom.core import HandloomError as HandloomError
    from handloom.core import Model as Model
    from handloom.core import Score as Score
    from handloom.core import Trace as Trace
    from handloom.core import Vocab as Vocab
    from handloom.core import count as count
    from handloom.core import generate as generate
    from handloom.core import load as load
    from handloom.core import merging as merging
    from handloom.core import params as params
    from handloom.core import save as save
    from handloom.core import score as score
    from handloom.core import sites as sites
    from handloom.core import trace as trace
    from handloom.core import transforms as transforms
    from handloom.discover import Verb
    from handloom.discover.proof import Proof as Proof
    from handloom.discover.proof import prove as prove
    from handloom.discover.records import records as records
    from handloom.learn import resume as resume
    from handloom.learn import sample as sample
    from handloom.learn import train as train
    from handloom.share import export as export
    from handloom.share import import_model as import_model
    from handloom.tasks import Certificate as Certificate
    from handloom.tasks import Language as Language
    from handloom.tasks import Task as Task
    from handloom.tasks import certify as certify
    from handloom.tasks import task as task
    from handloom.tasks import task_of as task_of
    from handloom.view.pages.live import page as page
    from handloom.write import program as program
    from handloom.write.compiler import compile as compile

    discover: Verb

CORE = """Config HandloomError Model Score Trace Vocab count generate load merging params save score sites trace
transforms"""
TASKS = """Certificate Language Task certify task task_of"""
MODULE_OF = {
    **dict.fromkeys(CORE.split(), "handloom.core"),
    **dict.fromkeys(TASKS.split(), "handloom.tasks"),
    **dict.fromkeys(("resume", "sample", "train"), "handloom.learn"),
    "compile": "handloom.write.compiler",
    **dict.fromkeys(("export", "import_model"), "handloom.share"),
    "discover": "handloom.discover",  # the package itself, which can be called
    "page": "handloom.view.pages.live",
    "program": "handloom.write",
    **dict.fromkeys(("Proof", "prove"), "handloom.discover.proof"),
    "read": "handloom.read",  # the module itself
    "records": "handloom.discover.records",
}
__all__ = sorted(MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in MODULE_OF:
        raise AttributeError(f"module 'handloom' has no attribute {name!r}; it has {', '.join(sorted(MODULE_OF))}")
    module = import_module(MODULE_OF[name])
    return module if module.__name__ == f"handloom.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
