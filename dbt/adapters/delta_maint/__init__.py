from dbt.adapters.base import AdapterPlugin
from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials
from dbt.adapters.delta_maint.impl import DeltaMaintAdapter
from dbt.include import delta_maint

Plugin = AdapterPlugin(
    adapter=DeltaMaintAdapter,  # type: ignore[arg-type]
    credentials=DeltaMaintCredentials,
    include_path=delta_maint.PACKAGE_PATH,
    dependencies=["spark"],
)
