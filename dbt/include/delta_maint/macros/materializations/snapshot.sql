{% materialization snapshot, adapter='delta_maint' %}
  {%- set target_name = model.get('alias', model.get('name')) -%}
  {%- set strategy_name = config.get('strategy') -%}
  {%- set grant_config = config.get('grants') -%}
  {%- if resolve_file_format() != 'delta' -%}
    {% do exceptions.raise_compiler_error('file_format is ' ~ resolve_file_format() ~ ', but a snapshot updates rows, which needs delta: remove file_format.') %}
  {%- endif -%}

  {% set exists, target_relation = get_or_create_relation(
      database=model.database, schema=model.schema, identifier=target_name, type='table') %}
  {%- if not target_relation.is_table -%}
    {% do exceptions.relation_wrong_type(target_relation, 'table') %}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {% set wanted, observed = none, none %}
  {% set strategy = strategy_dispatch(strategy_name)(model, 'snapshotted_data', 'source_data', model['config'], exists) %}

  {% if not exists %}
    {% set build_sql = build_snapshot_table(strategy, model['compiled_code']) %}
    {% do check_time_data_types(build_sql) %}
    {% set planned = delta_maint_plan_write(target_relation, build_sql, 'create') %}
    {% set final_sql = create_table_as(False, target_relation, planned.query if planned else build_sql) %}
  {% else %}
    {% set wanted = adapter.wanted_settings(config) %}
    {% set observed = adapter.observed_settings(target_relation, wanted) %}
    {% set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() %}
    {{ adapter.assert_valid_snapshot_target_given_strategy(target_relation, columns, strategy) }}
    {% do check_time_data_types(snapshot_staging_table(strategy, sql, target_relation)) %}
    {% set staging = build_snapshot_staging_table(strategy, sql, target_relation) %}

    {% set internal = ['dbt_change_type', 'dbt_unique_key'] %}
    {% if strategy.unique_key | is_list %}
      {% for key in strategy.unique_key %}{% do internal.append('dbt_unique_key_' ~ loop.index) %}{% endfor %}
    {% endif %}
    {% set staged_columns = [] %}
    {% for column in adapter.get_columns_in_relation(staging) if column.name | lower not in internal %}
      {% do staged_columns.append(column) %}
    {% endfor %}
    {% set known = adapter.get_columns_in_relation(target_relation) | map(attribute='name') | map('lower') | list %}
    {% set missing = [] %}
    {% for column in staged_columns if column.name | lower not in known %}
      {% do missing.append(column) %}
    {% endfor %}
    {% if missing %}{% do create_columns(target_relation, missing) %}{% endif %}

    {% set planned = delta_maint_plan_write(target_relation, '', 'merge') %}
    {% set final_sql = snapshot_merge_sql(
        target=target_relation, source=staging, insert_cols=staged_columns | map(attribute='quoted') | list) %}
  {% endif %}

  {% do adapter.writes_to(target_relation) %}
  {% call delta_maint_write(planned) %}
    {{ final_sql }}
  {% endcall %}

  {% do apply_grants(target_relation, grant_config, should_revoke=should_revoke(exists, full_refresh_mode=False)) %}
  {% do delta_maint_after_write(target_relation, wanted, observed) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}

{% macro delta_maint__snapshot_merge_sql(target, source, insert_cols) %}
  {%- set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on DBT_INTERNAL_SOURCE.{{ columns.dbt_scd_id }} = DBT_INTERNAL_DEST.{{ columns.dbt_scd_id }}
  when matched and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')
    {%- if config.get('dbt_valid_to_current') %}
    and (DBT_INTERNAL_DEST.{{ columns.dbt_valid_to }} = {{ config.get('dbt_valid_to_current') }}
      or DBT_INTERNAL_DEST.{{ columns.dbt_valid_to }} is null)
    {%- else %}
    and DBT_INTERNAL_DEST.{{ columns.dbt_valid_to }} is null
    {%- endif %}
    then update set {{ columns.dbt_valid_to }} = DBT_INTERNAL_SOURCE.{{ columns.dbt_valid_to }}
  when not matched and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'
    then insert ({{ insert_cols | join(', ') }})
    values (
      {%- for column in insert_cols -%}
      DBT_INTERNAL_SOURCE.{{ column }}{{ ', ' if not loop.last }}
      {%- endfor -%}
    )
{% endmacro %}

{% macro delta_maint__post_snapshot(staging_relation) %}
  {#- The staging relation is a temporary view of this connection. -#}
{% endmacro %}
