from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.simple_copy.test_copy_uppercase import BaseSimpleCopyUppercase
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase, SimpleCopyBase
from dbt.tests.util import get_connection


class TestSimpleCopy(SimpleCopyBase):
    # Spark 4.2 refuses CREATE MATERIALIZED VIEW outside of a pipeline.
    test_simple_copy_with_materialized_views = None


class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    @pytest.fixture(scope="class")
    def project(self, project: Any) -> Any:
        """Spark has no information_schema to list tables from: the adapter lists them."""

        def tables_in_schema() -> dict[str, str]:
            with get_connection(project.adapter):
                schema = project.adapter.Relation.create(
                    database=project.database, schema=project.test_schema
                )
                relations = project.adapter.list_relations_without_caching(schema)
            return {relation.identifier: str(relation.type) for relation in relations}

        project.get_tables_in_schema = tables_in_schema
        return project


class TestSimpleCopyUppercase(BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, session_target: dict[str, Any]) -> dict[str, Any]:
        return dict(session_target)
