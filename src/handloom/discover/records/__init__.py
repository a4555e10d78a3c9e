"""Records: the store of verified constructions; selecting, verifying, exporting and importing them.

from handloom.discover.records import Store, export_records, select, verify

store = Store.open("records.sqlite")
all(one.right for one in verify(store, select(store, "isosceles")))
export_records(store, select(store, best=1), "best.json")
"""

from handloom.discover.records.exporting import export_records
from handloom.discover.records.importing import import_constructions
from handloom.discover.records.selection import records, select
from handloom.discover.records.store import Record, Store
from handloom.discover.records.verification import verify

__all__ = ["Record", "Store", "export_records", "import_constructions", "records", "select", "verify"]
