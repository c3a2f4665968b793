from __future__ import annotations

from typing import ClassVar

from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    MetadataWithEmptyFlag,
)

from tests.conformance.dialect import PostgresFixtures


class TestEmpty(BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestMetadataWithEmptyFlag(PostgresFixtures, MetadataWithEmptyFlag):
    words: ClassVar[dict[str, str]] = {'"varchar"': '"string"'}
