"""The store: one SQLite file of records, each verified exactly before it is kept.

    >>> import tempfile
    >>> from handloom.discover import Problem, grid
    >>> problem = Problem(grid(2, 2), forbidden=lambda a, b: a[0] == b[0], name="one in a row")
    >>> store = Store.open(tempfile.mkdtemp() + "/records.sqlite")
    >>> store.add(problem, (0, 3), {"how": "search"}).score
    2
    >>> store.add(problem, (0, 3), {"how": "search"}) is None  # the store has it already
    True
    >>> store.best("one in a row").construction
    [[0, 0], [1, 1]]

Several programs may write to one store at once, and each may be killed at any moment: the store always holds whole
records. So the file is opened and closed for each call, no transaction contains a computation, and each starts with the
lock to write, so that none has to give up. SQLite keeps its rollback journal, not a write-ahead log: the log does not
work over a network, leaves a file that a copy of the store would miss, and lost data when several programs wrote, up to
SQLite 3.51.2 (https://sqlite.org/wal.html#walresetbug). The file of a new store is created with its first record.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from handloom import __version__
from handloom.core import HandloomError
from handloom.core.checks import parse_json
from handloom.core.errors import one_line, shown
from handloom.core.files import as_path, beside, check_place, what_is
from handloom.core.registry import offered
from handloom.discover.problem import Number, Problem, is_score, verdict
from handloom.discover.records.ranking import rank, rank_of
from handloom.discover.spaces import Construction, Space

PATIENCE = 30.0  # seconds for other programs to finish writing
APPLICATION, FORMAT = int.from_bytes(b"hand"), 1  # in the header of the file: the program, and the layout
SCHEMA = f"""
    CREATE TABLE records (
        id INTEGER PRIMARY KEY,
        problem TEXT NOT NULL,
        score TEXT NOT NULL,         -- as JSON: 28 or 28.0
        rank TEXT NOT NULL,          -- sorts as the scores do; as minus the scores, where these are to be small
        construction TEXT NOT NULL,  -- as JSON
        key TEXT NOT NULL,           -- as JSON: the canonical form
        found TEXT NOT NULL,
        verified TEXT NOT NULL,
        version TEXT NOT NULL,       -- of the handloom that verified it
        origin TEXT NOT NULL,        -- as JSON
        parent INTEGER REFERENCES records (id),
        UNIQUE (problem, key)
    );
    CREATE INDEX by_rank ON records (problem, rank DESC, id);
    PRAGMA application_id = {APPLICATION};
    PRAGMA user_version = {FORMAT};
"""
KNOWN = "CREATE TABLE IF NOT EXISTS known (problem TEXT PRIMARY KEY, best TEXT NOT NULL)"  # as JSON; old stores lack it
ASKED_AT_ONCE = 500  # keys in one query; older SQLite takes 999 values
Row = tuple[Any, ...]  # of these columns
COLUMNS = "problem, score, construction, key, found, verified, version, origin, parent, rank"


class NotLegal(HandloomError):
    """A construction that its problem forbids; it is not stored."""


class Find(NamedTuple):
    """A construction to be stored, how it was found, and its canonical form if that is known."""

    construction: Construction
    origin: Mapping[str, Any]
    key: Construction | None = None


@dataclass(frozen=True)
class Record:
    """A construction that was found and verified, and its origin."""

    id: int
    problem: str  # its full name
    score: Number
    construction: Any  # as people write it; the problem's space reads it
    key: str  # equal for constructions that are the same up to symmetry
    found: str  # UTC, as 2026-01-31T23:59:59+00:00
    verified: str  # likewise
    version: str  # of the handloom that verified it
    origin: dict[str, Any]  # its `start` is what the search started from, None for nothing
    parent: int | None  # the record that the search started from, if it was one
    minimise: bool = False  # whether its score was to be small

    def exceeds(self, score: Number) -> bool:
        """Whether it is better than that score."""
        return self.score < score if self.minimise else self.score > score

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        return offered("html")(self)


@dataclass(frozen=True)
class Store:
    """A file of records; use `Store.open`."""

    path: Path  # as the user wrote it, for messages
    place: Path  # absolute
    patience: float = PATIENCE

    @classmethod
    def open(
        cls, path: str | os.PathLike[str] = "records.sqlite", create: bool = True, patience: float = PATIENCE
    ) -> "Store":
        """The store at that path. If there is none, a new one, or with create=False an error."""
        path = as_path(path)
        if what_is(path) == "folder":
            raise HandloomError(f"{path} is a folder; name a file in it for the records")
        if what_is(path) == "nothing" and not create:
            raise HandloomError(f"{path}: no such file of records; a discovery run creates one", ("discover", ""))
        if os.path.exists(path) and what_is(path) == "nothing":
            raise HandloomError(f"{path} cannot hold records: it is not a regular file; name another")
        store = cls(path, check_place(path) if what_is(path) == "nothing" else path.absolute(), patience)
        store.rows("SELECT 1 FROM records LIMIT 1")
        return store

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open between calls."""

    def add(
        self, problem: Problem, construction: Construction, origin: Mapping[str, Any], key: Construction | None = None
    ) -> Record | None:
        """Verify a construction and store it; None if the store has one with its key, its canonical form. One that is
        not legal raises NotLegal."""
        [added] = self.add_all(problem, [Find(construction, origin, key)])
        if isinstance(added, NotLegal):
            raise added
        return added

    def add_all(self, problem: Problem, finds: Sequence[Find]) -> list[Record | NotLegal | None]:
        """What `add` returns for each, or raises, in one transaction: the disk needs no longer for many than for
        one."""
        if not problem.name:
            raise HandloomError(
                "records are stored by the name of their problem, and this one has none; give it a name"
            )
        about = f"{problem}: the construction"
        written = [as_json(about, problem.space.shown(well_formed(problem, find.construction))) for find in finds]
        keys = [
            text if find.key is None else key_of(problem, find.key) for text, find in zip(written, finds, strict=True)
        ]
        there = self.present(problem.name, keys)
        rows = [
            None if key in there else verified_row(problem, find, text, key)
            for find, text, key in zip(finds, written, keys, strict=True)
        ]
        numbers = iter(self.insert([row for row in rows if isinstance(row, tuple)]))
        added = [with_number(next(numbers), row) if isinstance(row, tuple) else row for row in rows]
        if not all(isinstance(row, NotLegal) for row in rows):
            self.keep_best_known(problem)
        return added

    def present(self, problem: str, keys: Sequence[str]) -> set[str]:
        """Those of the keys that the store has."""
        there: set[str] = set()
        for first in range(0, len(keys), ASKED_AT_ONCE):
            some = keys[first : first + ASKED_AT_ONCE]
            query = f"SELECT key FROM records WHERE problem = ? AND key IN ({', '.join('?' * len(some))})"
            there.update(key for (key,) in self.rows(query, problem, *some))
        return there

    def insert(self, rows: Sequence[Row]) -> list[int | None]:
        """The numbers of the new records; None for one that another program has just stored."""
        if not rows:
            return []
        if what_is(self.place) == "nothing":
            self.make()
        with self.connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            numbers = [self.insert_one(connection, row) for row in rows]
            connection.execute("COMMIT")
        return numbers

    def insert_one(self, connection: sqlite3.Connection, row: Row) -> int | None:
        parent = row[-2]
        if parent is not None and not connection.execute("SELECT 1 FROM records WHERE id = ?", [parent]).fetchone():
            raise HandloomError(f"the parent of a record is {shown(parent)}, which is not in {self.path}")
        places = ", ".join("?" * len(row))
        insert = f"INSERT INTO records ({COLUMNS}) VALUES ({places}) ON CONFLICT (problem, key) DO NOTHING"
        done = connection.execute(insert, row)
        return done.lastrowid if done.rowcount else None

    def make(self) -> None:
        """Create a store without records: whole from the start, also if two programs create it at once."""
        with closing(sqlite3.connect(":memory:")) as memory:
            memory.executescript(SCHEMA)
            data = memory.serialize()
        try:
            with beside(self.place) as (file, name):
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                put(name, self.place)
        except OSError as error:
            raise HandloomError(f"cannot write {self.path}: {error.strerror}") from error

    def best(self, problem: str) -> Record | None:
        """The record with the best score; of several the first."""
        return next(iter(self.records(problem, limit=1)), None)

    def find(self, problem: Problem, key: Construction) -> Record:
        """The record of a problem that has this key, its canonical form."""
        return self.rows_as_records("WHERE problem = ? AND key = ?", problem.name, key_of(problem, key))[0]

    def records(
        self, problem: str | None = None, least: Number | None = None, limit: int | None = None
    ) -> list[Record]:
        """The records of a problem, or all, with at least that score (at most minus that, where scores are to be
        small), up to `limit`; by problem, the best first."""
        where = "WHERE problem = ?" if problem is not None else "WHERE ? IS NULL"
        values = (problem, "" if least is None else rank(least), -1 if limit is None else limit)
        return self.rows_as_records(f"{where} AND rank >= ? ORDER BY problem, rank DESC, id LIMIT ?", *values)

    def best_known(self, problem: str) -> Number | None:
        """The best known value of a problem with records, as of its last record: listing records needs neither its
        file nor running it."""
        if not self.rows("SELECT 1 FROM sqlite_master WHERE name = 'known'"):
            return None
        found = self.rows("SELECT best FROM known WHERE problem = ?", problem)
        try:
            value = parse_json(found[0][0]) if found else None
            return value if is_score(value) else None
        except (TypeError, ValueError):
            return None

    def keep_best_known(self, problem: Problem) -> None:
        if self.best_known(problem.name) != problem.best_known:
            with self.connected() as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(KNOWN)
                row = (problem.name, json.dumps(problem.best_known))
                connection.execute("INSERT OR REPLACE INTO known VALUES (?, ?)", row)
                connection.execute("COMMIT")

    def problems(self) -> list[str]:
        """The names of the problems with records."""
        return [name for (name,) in self.rows("SELECT DISTINCT problem FROM records ORDER BY problem")]

    def check_same(self, problem: Problem) -> None:
        """Raise an error if the best record of that name is not one of this problem."""
        best = self.best(problem.name)
        reason = wrong(problem, best) or other_aim(problem, best) if best else None
        if reason:
            raise HandloomError(
                f"{self.path} has records of another problem called {problem.name} ({reason});"
                " use another store, or another name for the problem"
            )

    def check_whole(self) -> None:
        """Raise an error if the file is damaged anywhere."""
        answers = self.rows("PRAGMA integrity_check(1)")
        if answers and answers[0][0] != "ok":
            raise HandloomError(f"{self.path} is damaged: {one_line(ValueError(answers[0][0]))}")

    def rows_as_records(self, where: str, *values: Any) -> list[Record]:
        try:
            return [as_record(row) for row in self.rows(f"SELECT id, {COLUMNS} FROM records {where}", *values)]
        except HandloomError:
            raise
        except (TypeError, ValueError) as error:
            raise HandloomError(f"{self.path} is damaged: a record cannot be read ({one_line(error)})") from error

    def rows(self, query: str, *values: Any) -> list[Any]:
        """The rows of a query; none in a store that does not exist yet."""
        if what_is(self.place) == "nothing":
            return []
        with self.connected() as connection:
            return connection.execute(query, values).fetchall()

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """The file, open until the end of the block; what is not committed by then is undone."""
        where = f"{self.place.as_uri()}?mode=rw"
        try:
            with closing(sqlite3.connect(where, self.patience, isolation_level=None, uri=True)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                check_ours(self.path, connection)
                yield connection
        except (sqlite3.Error, UnicodeError, OverflowError) as error:
            raise HandloomError(self.explained(error)) from error

    def explained(self, error: Exception) -> str:
        """SQLite's error in one line."""
        path, code = self.path, getattr(error, "sqlite_errorcode", 0) & 0xFF  # the other bits are details
        return {
            sqlite3.SQLITE_NOTADB: f"{path} is not a SQLite database, or damaged; name another file",
            sqlite3.SQLITE_CORRUPT: f"{path} is damaged ({one_line(error)}); use a copy of it, or name another file",
            sqlite3.SQLITE_FULL: f"cannot write {path}: the disk is full",
            sqlite3.SQLITE_BUSY: f"{path} has been locked by another program for {self.patience:.0f} s; end that first",
            sqlite3.SQLITE_READONLY: f"cannot write {path}: it is read-only",
            sqlite3.SQLITE_IOERR: f"cannot read or write {path}: {one_line(error)}; is the disk full?",
        }.get(code, f"{path} cannot be used: {one_line(error)}")


def put(source: Path, place: Path) -> None:
    """Put the file at that place too, if there is none."""
    try:
        os.link(source, place)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        with open(place, "xb") as file:
            file.write(source.read_bytes())


def check_ours(path: Path, connection: sqlite3.Connection) -> None:
    """Raise an error for a database that is not a store of records."""
    (application,), (layout,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise HandloomError(f"{path} is empty or a database of something else, not of records; name another file")
    if layout != FORMAT:
        raise HandloomError(f"{path} has records in format {layout} (expected {FORMAT}, by this version of handloom)")


def well_formed(problem: Problem, construction: Construction) -> Construction:
    """The construction, if it belongs to the problem's space and reads back from JSON as itself."""
    space: Space = problem.space
    try:
        again = space.read(json.loads(as_json(f"{problem}: the construction", space.shown(construction))))
        if again == tuple(construction):
            return again
    except (TypeError, IndexError, HandloomError):
        pass
    wanted = "indices of elements in ascending order" if space.is_subset else f"the indices of a {space.kind}"
    raise HandloomError(f"{problem}: {shown(construction)} is not a construction; it must be a tuple of {wanted}")


def wrong(problem: Problem, record: Record) -> str | None:
    """What is wrong with a record, verified again; None if nothing is."""
    try:
        score, reason = verdict(problem, problem.space.read(record.construction))
    except HandloomError as error:
        return f"record {record.id}: {error}"
    if score is not None and (score != record.score or type(score) is not type(record.score)):
        reason = f"its score is {score}, not {record.score}"
    return f"record {record.id}: {reason}" if reason else None


def other_aim(problem: Problem, record: Record) -> str | None:
    """What was asked for instead, if a record's score was to be large and the problem's small, or vice versa."""
    if record.minimise == problem.minimise:
        return None
    return f"their scores were to be {'small' if record.minimise else 'large'}"


def key_of(problem: Problem, form: Construction) -> str:
    """The key of a construction, from its canonical form."""
    return as_json(f"{problem}: the key", problem.space.shown(form))


def as_json(what: str, value: Any) -> str:
    """A value as JSON, including NumPy's numbers."""
    try:
        return json.dumps(value, default=lambda number: number.item(), allow_nan=False)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise HandloomError(f"{what} cannot be written as JSON: {one_line(error)}") from error


def verified_row(problem: Problem, find: Find, written: str, key: str) -> Row | NotLegal:
    """The row of a construction, or why it is not legal."""
    score, reason = verdict(problem, find.construction)
    if score is None:
        return NotLegal(f"{problem}: the construction is not legal and was not stored: {reason}")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    about, parent = as_json(f"{problem}: the origin", dict(find.origin)), find.origin.get("parent")
    place = rank_of(problem, score)
    return (problem.name, json.dumps(score), written, key, now, now, __version__, about, parent, place)


def with_number(number: int | None, row: Row) -> Record | None:
    return None if number is None else as_record((number, *row))


def as_record(row: Row) -> Record:
    id, problem, score, construction, key, found, verified, version, origin, parent, place = row
    number, about = parse_json(score), parse_json(origin)
    if not isinstance(number, int | float) or not isinstance(about, dict):
        raise ValueError(f"record {id} has no score or no origin")
    if "start" not in about:  # earlier versions guessed the parent by similarity
        parent = None
        about.pop("parent", None)
    minimise = place != rank(number)  # the rank is that of minus the score
    return Record(id, problem, number, parse_json(construction), key, found, verified, version, about, parent, minimise)
