"""What is known about the size of a write's rows: on disk, and in a shuffle.

The table's own files come first, then a sample of the query's rows, then the schema. A query is looked at
beforehand only where that neither repeats costly work nor evaluates twice what depends on chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core import calibration as known_sizes
from dbt.adapters.delta_maint.core.calibration import (
    DEFAULT_SHUFFLE_RATIO,
    Calibration,
    PastWrite,
    Source,
    from_schema,
    of_random_columns,
    possible_ratio,
)
from dbt.adapters.delta_maint.core.write_choice import Choice, QueryFacts, SortColumn, Way
from dbt.adapters.delta_maint.lake import row_sample
from dbt.adapters.delta_maint.lake.shuffle_size import (
    SAMPLE_ROWS,
    sampled_shuffle_bytes,
    shuffle_bytes_per_row,
)
from dbt.adapters.delta_maint.lake.write_target import WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class WriteQuery:
    """`bare` gives the same rows without the order or distribution the query asks for at its end."""

    frame: DataFrame
    bare: DataFrame
    keys: tuple[Column, ...]
    facts: QueryFacts
    order: tuple[SortColumn, ...]
    columns: tuple[tuple[str, str], ...]
    # The fingerprint of what is written: equal ones have rows of equal size.
    written: str


class RowSizes:
    """Of one write: every source is asked at most once."""

    def __init__(self, spark: SparkSession, target: WriteTarget, target_bytes: int) -> None:
        self._spark = spark
        self._target = target
        self._target_bytes = target_bytes
        self._sample: Any = None
        self._past: list[PastWrite] | None = None
        self._found: Calibration | None = None

    def fingerprint(self, columns: Sequence[tuple[str, str]], *, order: Sequence[str]) -> str:
        return known_sizes.fingerprint(codec=self._codec, columns=columns, order=order)

    def past_writes(self) -> list[PastWrite]:
        if self._past is None:
            self._past = self._target.past_writes(self._spark)
        return self._past

    def calibrate(self, choice: Choice, query: WriteQuery, *, rows: int = 0) -> Calibration:
        """The table's own files, else the query's own rows, else the schema; `rows` if they are counted."""
        if self._found is None:
            self._found = self._from_table(query.written)
        if self._found is None and _may_look(choice, query.facts):
            self._found = self._from_sample(query, rows)
        return self._found or from_schema(kind for _, kind in query.columns)

    def are_rows_alike(self) -> bool:
        """Whether a hash of the rows could not spread them, as the sample or the write before says."""
        if self._sample is not None:
            return row_sample.has_few_distinct_rows(self._sample)
        past = self.past_writes()
        return bool(past) and past[0].salt == "position"

    # -- bytes in a shuffle per byte on disk --------------------------------------------------

    def query_ratio(self, choice: Choice, query: WriteQuery) -> float:
        """For rows that Spark or Delta distributes: from the last such write, or from the query's sample."""
        found = self._past_ratio(query.written, choice.way)
        if found is None and _may_look(choice, query.facts):
            calibration = self.calibrate(choice, query)
            if self._sample is not None and calibration.source is Source.SAMPLE:
                rows = row_sample.without_keys(self._sample).slice(0, SAMPLE_ROWS)
                found = _ratio(shuffle_bytes_per_row(rows), calibration)
        return found or DEFAULT_SHUFFLE_RATIO

    def table_ratio(self, written: str, table: DataFrame | None) -> float:
        """For a MERGE: from the last one, or from rows of the table, once it is worth several files."""
        found = self._past_ratio(written, Way.DELTA)
        if found is None and table is not None and self._target.table_bytes > self._target_bytes:
            calibration = self._from_table(written)
            if calibration is not None:
                found = _ratio(sampled_shuffle_bytes(table), calibration)
        return found or DEFAULT_SHUFFLE_RATIO

    def _past_ratio(self, written: str, way: Way) -> float | None:
        return known_sizes.shuffle_ratio(self.past_writes(), fingerprint=written, mode=way.value)

    # -- sources ------------------------------------------------------------------------------

    def _from_table(self, written: str) -> Calibration | None:
        return self._target.calibrate(
            self._spark,
            self.past_writes(),
            fingerprint=written,
            target_bytes=self._target_bytes,
        )

    def _from_sample(self, query: WriteQuery, rows: int) -> Calibration | None:
        """Columns that would be other ones in the write are not looked at, but guessed by their types."""
        from pyspark.errors import UnsupportedOperationException

        unseen = query.facts.random_columns
        looked_at = query.bare.drop(*unseen) if unseen else query.bare
        if not looked_at.columns:
            return None
        row_bytes = query.facts.scan_bytes / rows if rows else 0.0
        try:
            self._sample = row_sample.sample_rows(looked_at, query.keys, row_bytes=row_bytes)
        except UnsupportedOperationException:  # Arrow has no such type
            return None
        guessed = [kind for name, kind in query.columns if name in unseen]
        return row_sample.measure(
            self._sample,
            row_sample.ParquetStyle(self._codec, has_int96_timestamps=self._has_int96_timestamps),
            target_bytes=self._target_bytes,
            extra_bytes_per_row=of_random_columns(guessed),
        )

    @property
    def _codec(self) -> str:
        return str(self._spark.conf.get("spark.sql.parquet.compression.codec", "snappy"))

    @property
    def _has_int96_timestamps(self) -> bool:
        kind = self._spark.conf.get("spark.sql.parquet.outputTimestampType", "INT96")
        return str(kind).upper() == "INT96"


def _may_look(choice: Choice, facts: QueryFacts) -> bool:
    is_at_hand = choice.is_staged or choice.shares_stages
    return is_at_hand or (facts.is_deterministic and not facts.is_heavy)


def _ratio(shuffled_bytes_per_row: float | None, calibration: Calibration) -> float | None:
    if not shuffled_bytes_per_row:
        return None
    return possible_ratio(shuffled_bytes_per_row / calibration.bytes_per_row)
