{% materialization incremental, adapter='delta_maint', supported_languages=['sql', 'python'] %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set temp_relation = make_temp_relation(this) -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set unique_key = config.get('unique_key') -%}
  {%- set on_schema_change = config.get('on_schema_change') or 'ignore' -%}
  {%- set strategy = config.get('incremental_strategy') or ('merge' if unique_key else 'append') -%}
  {%- set strategy_macro = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {%- do adapter.check_incremental(strategy, config) -%}
  {%- set wanted, observed = none, none -%}
  {%- set rebuild = existing is none or existing.type == 'view' or should_full_refresh() -%}

  {{ run_hooks(pre_hooks) }}

  {% if model['language'] == 'python' %}
    {%- call statement('python_model', language='python') -%}
      {{ py_write_view(compiled_code, python_view_name()) }}
    {%- endcall -%}
    {% set compiled_code = 'select * from ' ~ adapter.quote(python_view_name()) %}
  {% endif %}

  {% if rebuild %}
    {% do drop_unless_replaceable(existing, target_relation) %}
    {%- call statement('main') -%}
      {{ create_table_as(False, target_relation, compiled_code) }}
    {%- endcall -%}
  {% else %}
    {% set wanted = adapter.wanted_settings(config) %}
    {% set observed = adapter.observed_settings(target_relation, wanted) %}
    {%- call statement('create_temp_relation') -%}
      {{ create_table_as(True, temp_relation, compiled_code) }}
    {%- endcall -%}
    {% set columns = adapter.settle_columns(strategy, on_schema_change, config, temp_relation, target_relation) %}
    {% set arguments = {
      'target_relation': target_relation,
      'temp_relation': temp_relation,
      'unique_key': unique_key,
      'dest_columns': columns,
      'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
    } %}
    {% set build_sql = strategy_macro(arguments) %}
    {% if strategy == 'merge' and unique_key %}{% do adapter.explain_duplicates(temp_relation, unique_key) %}{% endif %}
    {%- call statement('main') -%}
      {{ build_sql }}
    {%- endcall -%}
  {% endif %}

  {% do apply_grants(target_relation, grant_config, should_revoke(existing, full_refresh_mode=rebuild)) %}
  {% do delta_maint_after_write(target_relation, wanted, observed) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
