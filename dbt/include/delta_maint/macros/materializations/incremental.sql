{% materialization incremental, adapter='delta_maint', supported_languages=['sql', 'python'] %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set temp_relation = make_temp_relation(this) -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set unique_key = config.get('unique_key') -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set strategy = config.get('incremental_strategy') or ('merge' if unique_key else 'append') -%}
  {%- set strategy_macro = adapter.get_incremental_strategy_macro(context, strategy) -%}
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
    {% do process_schema_changes(on_schema_change, temp_relation, target_relation) %}
    {% set arguments = {
      'target_relation': target_relation,
      'temp_relation': temp_relation,
      'unique_key': unique_key,
      'dest_columns': columns_to_write(temp_relation, target_relation, on_schema_change),
      'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
    } %}
    {%- call statement('main') -%}
      {{ strategy_macro(arguments) }}
    {%- endcall -%}
  {% endif %}

  {% do apply_grants(target_relation, grant_config, should_revoke(existing, full_refresh_mode=rebuild)) %}
  {% do delta_maint_after_write(target_relation, wanted, observed) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}

{% macro columns_to_write(source, target, on_schema_change) %}
  {#- `ignore` writes every column the table has; the other modes those that both sides have. -#}
  {% set columns = adapter.get_columns_in_relation(target) %}
  {% if on_schema_change == 'ignore' %}
    {% do return(columns) %}
  {% endif %}
  {% set offered = adapter.get_columns_in_relation(source) | map(attribute='name') | map('lower') | list %}
  {% set both = [] %}
  {% for column in columns if column.name | lower in offered %}
    {% do both.append(column) %}
  {% endfor %}
  {% do return(both) %}
{% endmacro %}
