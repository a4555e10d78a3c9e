"""Records written to files, as JSON, text, graph6 or Sage.

export_records(store, select(store), "records.json")
"""

import json
import os
from collections.abc import Sequence
from typing import Any

from handloom.core.files import as_path, write_atomically
from handloom.discover.problem import Number
from handloom.discover.records.exchange import as_graph6, as_object, as_paragraph, as_sage_file
from handloom.discover.records.proofs import proof_of
from handloom.discover.records.selection import Asked, by_problem, problem_or_none
from handloom.discover.records.sources import sources_of
from handloom.discover.records.store import Record, Store


def best_known_of(store: Store, records: Sequence[Record], asked: Asked = None) -> dict[str, Number | None]:
    """The best known values of the records' problems. Of a problem whose file is not given, the store's."""
    problems = {name: problem_or_none(name, asked) for name in {record.problem for record in records}}
    return {name: one.best_known if one else store.best_known(name) for name, one in problems.items()}


def as_objects(store: Store, records: Sequence[Record], asked: Asked = None) -> list[dict[str, Any]]:
    """Records for JSON, with the best known values of their problems."""
    known = best_known_of(store, records, asked)
    proofs, sources = {name: proof_of(store, name) for name in known}, sources_of(store)
    return [
        as_object(record)
        | {"best_known": known[record.problem]}
        | bound_in(proofs[record.problem], record)
        | ({"sources": sources[record.id]} if record.id in sources else {})
        for record in records
    ]


def bound_in(proof: dict[str, Any] | None, record: Record) -> dict[str, Any]:
    """What is proved of a record's problem, for JSON; nothing if nothing is."""
    if proof is None:
        return {}
    kept = {key: proof[key] for key in ("bound", "seconds", "checked", "count")}
    return {"optimal": record.score == proof["bound"], "proof": kept}


def as_file_text(store: Store, records: Sequence[Record], ending: str = ".json", asked: Asked = None) -> str:
    """Records as the text of a .json, .txt, .g6 or .sage file, which `import_constructions` reads."""
    if ending.lower() not in (".txt", ".g6", ".sage"):
        return "[\n" + ",\n".join(map(json.dumps, as_objects(store, records, asked))) + "\n]\n"
    problems = {name: problem_or_none(name, asked) for name, _ in by_problem(records)}
    spaces = {name: problem.space if problem else None for name, problem in problems.items()}
    if ending.lower() == ".sage":
        return as_sage_file([(record, spaces[record.problem]) for record in records])
    if ending.lower() == ".g6":
        return "".join(as_graph6(record, spaces[record.problem]) + "\n" for record in records)
    return "\n".join(as_paragraph(record, spaces[record.problem]) for record in records)


def export_records(store: Store, records: Sequence[Record], path: str | os.PathLike[str], asked: Asked = None) -> None:
    """Write records to a .json, .txt, .g6 or .sage file."""
    path = as_path(path)
    write_atomically(path, as_file_text(store, records, path.suffix, asked).encode())
