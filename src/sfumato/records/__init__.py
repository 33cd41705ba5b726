"""Made-up clinic and customer records, for demonstrations and tests that must not touch anybody's data."""

from sfumato.records.clinic import DISEASES
from sfumato.records.generator import Record, make_records

__all__ = ["DISEASES", "Record", "make_records"]
