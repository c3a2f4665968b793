from __future__ import annotations

from typing import ClassVar

from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    BaseTestEmptySeedFlag,
    MetadataWithEmptyFlag,
)

from tests.conformance.dialect import PostgresFixtures


class TestEmpty(BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestEmptySeedFlag(BaseTestEmptySeedFlag):
    test_build_empty_with_seed = None
    test_seed_empty_creates_table_with_zero_rows = None
    test_seed_empty_preserves_column_types = None


class TestMetadataWithEmptyFlag(PostgresFixtures, MetadataWithEmptyFlag):
    words: ClassVar[dict[str, str]] = {'"varchar"': '"string"'}
