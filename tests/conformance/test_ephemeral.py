from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.ephemeral import test_ephemeral
from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)


@pytest.fixture
def as_postgres_would_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base compares the text of the run file with Postgres' CREATE VIEW: only the frame differs."""

    def read(path: str, mode: str) -> Any:
        text = Path(path).read_text().strip()
        head, _, query = text.partition("\n  as\n")
        assert head.startswith("create or replace view `spark_catalog`.")
        name = head.rsplit(".", 1)[1].strip("` \n")
        query = query.replace("`spark_catalog`.", '"dbt".').replace("`", '"')
        copy = Path(path).with_suffix(".postgres")
        copy.write_text(f'create view "dbt"."test_test_ephemeral"."{name}__dbt_tmp" as ({query});')
        return copy.open(mode)

    monkeypatch.setattr(test_ephemeral, "open", read, raising=False)


@pytest.mark.usefixtures("as_postgres_would_say")
class TestEphemeralMulti(BaseEphemeralMulti):
    pass


@pytest.mark.usefixtures("as_postgres_would_say")
class TestEphemeralNested(BaseEphemeralNested):
    pass


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass
