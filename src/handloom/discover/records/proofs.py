"""Proofs in the store, by problem: what is shown beside a record that a bound is known for.

A proof is kept as JSON, as `Proof.to_json` gives it. One of the same sets that says less does not
replace the one that is there.
"""

import json
from typing import TYPE_CHECKING, Any

from handloom.core.checks import parse_json
from handloom.discover.problem import Number
from handloom.discover.records.store import Store

if TYPE_CHECKING:
    from handloom.discover.proof.proof import Proof

TABLE = "CREATE TABLE IF NOT EXISTS proofs (problem TEXT PRIMARY KEY, proof TEXT)"  # as JSON; old stores lack it


def keep_proof(store: Store, proof: "Proof") -> None:
    """Keep a proof that says something, unless the store has one of the same problem that says more."""
    if proof.trivial:
        return
    data = proof.to_json()
    old = proof_of(store, proof.problem)
    if not store.rows("SELECT 1 FROM records LIMIT 1") or (
        old and old["digest"] == data["digest"] and worth(old) > worth(data)
    ):
        return
    with store.connected() as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(TABLE)
        connection.execute("INSERT OR REPLACE INTO proofs VALUES (?, ?)", (proof.problem, json.dumps(data)))
        connection.execute("COMMIT")


def worth(proof: dict[str, Any]) -> tuple[Any, ...]:
    """The smaller bound first, then one that was proved twice, then one that counts."""
    return -proof["bound"], proof["checked"], proof["count"] is not None


def proof_of(store: Store, problem: str) -> dict[str, Any] | None:
    """The proof of a problem; None if there is none that can be read."""
    if not store.rows("SELECT 1 FROM sqlite_master WHERE name = 'proofs'"):
        return None
    found = store.rows("SELECT proof FROM proofs WHERE problem = ?", problem)
    try:
        proof = parse_json(found[0][0]) if found else None
    except (TypeError, ValueError):
        return None
    whole = isinstance(proof, dict) and {"bound", "seconds", "checked", "digest", "count"} <= proof.keys()
    return proof if whole else None


def proved(proof: dict[str, Any] | None, score: Number) -> str:
    """What a proof says of a record with that score, in a few words.

    >>> proved({"bound": 9, "seconds": 12.3}, 9), proved({"bound": 9, "seconds": 12.3}, 8)
    ('optimal (proved in 12 s)', 'at most 9 (proved in 12 s)')
    """
    from handloom.discover.proof.proof import brief

    if proof is None:
        return ""
    if score > proof["bound"]:
        return f"above the bound of {proof['bound']}: the proof is of another problem"
    said = "optimal" if score == proof["bound"] else f"at most {proof['bound']}"
    return f"{said} (proved in {brief(proof['seconds'])})"
