{% materialization incremental, adapter='delta_maint', supported_languages=['sql', 'python'] %}
  {% do delta_maint_check_incremental() %}
  {{ run_hooks(pre_hooks) }}
  {% if model['language'] == 'python' %}
    {%- call statement('python_model', language='python') -%}
      {{ py_write_view(compiled_code, python_view_name()) }}
    {%- endcall -%}
  {% endif %}
  {{ return(delta_maint_incremental()) }}
{% endmaterialization %}

{% macro delta_maint_incremental_strategy() %}
  {#- `optimized_write` says how files are made; rows are merged or appended. -#}
  {% set strategy = config.get('incremental_strategy') %}
  {% if strategy in (none, 'optimized_write') %}
    {% do return('merge' if config.get('unique_key') else 'append') %}
  {% endif %}
  {% do return(strategy) %}
{% endmacro %}

{% macro delta_maint_check_incremental() %}
  {% do adapter.get_incremental_strategy_macro(context, delta_maint_incremental_strategy()) %}
  {% do adapter.check_incremental(delta_maint_incremental_strategy(), config) %}
{% endmacro %}

{% macro delta_maint_incremental() %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set temp_relation = make_temp_relation(this) -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set unique_key = config.get('unique_key') -%}
  {%- set on_schema_change = config.get('on_schema_change') or 'ignore' -%}
  {%- set strategy = delta_maint_incremental_strategy() -%}
  {%- set strategy_macro = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {%- set wanted, observed = none, none -%}
  {%- set rebuild = existing is none or existing.type == 'view' or should_full_refresh() -%}
  {%- set query = 'select * from ' ~ adapter.quote(python_view_name()) if model['language'] == 'python' else compiled_code -%}

  {% if rebuild %}
    {% do delta_maint_create(target_relation, existing, query) %}
  {% else %}
    {% set wanted = adapter.wanted_settings(config) %}
    {% set observed = adapter.observed_settings(target_relation, wanted) %}
    {%- call statement('create_temp_relation') -%}
      {{ create_table_as(True, temp_relation, query) }}
    {%- endcall -%}
    {% set columns = adapter.settle_columns(strategy, on_schema_change, config, temp_relation, target_relation) %}
    {% do adapter.bring_up_constraints(target_relation, model, observed) %}
    {% set arguments = {
      'target_relation': target_relation,
      'temp_relation': temp_relation,
      'unique_key': unique_key,
      'dest_columns': columns,
      'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
    } %}
    {% set planned = delta_maint_plan_strategy(strategy, arguments) %}
    {% set build_sql = strategy_macro(arguments) %}
    {% if strategy == 'merge' and unique_key %}{% do adapter.explain_duplicates(temp_relation, unique_key) %}{% endif %}
    {% do adapter.writes_to(target_relation) %}
    {%- call delta_maint_write(planned) -%}
      {{ build_sql }}
    {%- endcall -%}
  {% endif %}

  {% do apply_grants(target_relation, grant_config, should_revoke(existing, full_refresh_mode=rebuild)) %}
  {% do delta_maint_after_write(target_relation, wanted, observed) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmacro %}

{% macro delta_maint_plan_strategy(strategy, arguments) %}
  {#- A strategy that inserts rows reads the placed ones in place of the model's own. -#}
  {% set query = 'select * from ' ~ arguments['temp_relation'] %}
  {% if strategy == 'microbatch' %}
    {% set query = query ~ ' where ' ~ delta_maint_batch_window() %}
  {% endif %}
  {% set planned = delta_maint_plan_write(arguments['target_relation'], query, strategy) %}
  {% if planned and planned.source %}
    {% do arguments.update({'temp_relation': planned.source}) %}
  {% endif %}
  {% do return(planned) %}
{% endmacro %}
