"""A write ready to run: where its rows are read, and the settings of its one statement."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.delta_maint.core.calibration import Calibration
from dbt.adapters.delta_maint.core.placement import Placement
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.core.write_choice import Choice
from dbt.adapters.delta_maint.lake.query_facts import unstage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class PreparedWrite:
    """`frame` is None for a MERGE, whose rows Delta reads from where the statement says."""

    choice: Choice
    target_bytes: int
    settings: Mapping[str, str]
    frame: DataFrame | None = None
    calibration: Calibration | None = None
    placement: Placement | None = None
    planned_files: int | None = None
    staged: DataFrame | None = None
    view: str | None = None

    @property
    def has_rows(self) -> bool:
        return self.frame is not None

    def show_as(self, view: str) -> None:
        """Makes the placed rows readable by SQL, in this session only."""
        assert self.frame is not None
        self.frame.createOrReplaceTempView(identifier(view))
        self.view = view

    @contextmanager
    def running(self, spark: SparkSession) -> Iterator[None]:
        """The settings are in force inside, and whatever happens they are as before afterwards."""
        before = {key: spark.conf.get(key, None) for key in self.settings}
        try:
            for key, value in self.settings.items():
                spark.conf.set(key, value)
            yield
        except BaseException:
            # What went wrong is told, not that a session which is gone cannot be tidied up.
            with contextlib.suppress(Exception):
                self._put_back(spark, before)
            raise
        self._put_back(spark, before)

    def _put_back(self, spark: SparkSession, before: Mapping[str, str | None]) -> None:
        try:
            for key, previous in before.items():
                if previous is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, previous)
        finally:
            self.release(spark)

    def release(self, spark: SparkSession) -> None:
        """Forgets the view and what was staged for it."""
        if self.view is not None:
            spark.sql(f"drop view if exists {identifier(self.view)}")
            self.view = None
        if self.staged is not None:
            unstage(self.staged)
            self.staged = None
