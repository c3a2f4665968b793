{% macro resolve_file_format() %}
  {#- dbt gives adapter configs no defaults, so this is the one place that knows ours. -#}
  {% do return(config.get('file_format') or 'delta') %}
{% endmacro %}

{% macro delta_maint__file_format_clause() %}
  using {{ resolve_file_format() }}
{%- endmacro %}

{% macro delta_maint__tblproperties_clause(extra={}) %}
  {%- set wanted = {} -%}
  {%- do wanted.update(config.get('tblproperties') or {}) -%}
  {%- do wanted.update(extra) -%}
  {%- if wanted %}
  tblproperties ({{ adapter.sql_properties(wanted) }})
  {%- endif %}
{%- endmacro %}

{% macro delta_maint__options_clause() %}
  {%- if config.get('options') %}
  options ({{ adapter.sql_properties(config.get('options')) }})
  {%- endif %}
{%- endmacro %}

{% macro delta_maint__location_clause() %}
  {%- set root = config.get('location_root') -%}
  {%- if root is not none %}
  location {{ adapter.sql_string(root ~ '/' ~ model['alias']) }}
  {%- endif %}
{%- endmacro %}

{% macro delta_maint__comment_clause() %}
  {%- if config.persist_relation_docs() and model.description %}
  comment {{ adapter.sql_string(model.description) }}
  {%- endif %}
{%- endmacro %}

{% macro delta_maint__partition_cols(label, required=false) %}
  {%- if config.get('partition_by') %}
  {{ label }} ({{ adapter.sql_identifiers(config.get('partition_by')) }})
  {%- endif %}
{%- endmacro %}

{% macro delta_maint__clustered_cols(label, required=false) %}
  {%- set liquid = config.get('liquid_clustered_by') -%}
  {%- set buckets = config.get('buckets') -%}
  {%- if liquid and config.get('partition_by') -%}
    {% do exceptions.raise_compiler_error('liquid_clustered_by and partition_by cannot both be set: Delta clusters or partitions a table, keep one.') %}
  {%- elif liquid %}
  cluster by ({{ adapter.sql_identifiers(liquid) }})
  {%- elif buckets and resolve_file_format() == 'delta' -%}
    {% do exceptions.raise_compiler_error('buckets is set, but Delta has no bucketed tables: use liquid_clustered_by, or another file_format.') %}
  {%- elif buckets %}
  {{ label }} ({{ adapter.sql_identifiers(config.get('clustered_by')) }}) into {{ buckets }} buckets
  {%- endif %}
{%- endmacro %}

{% macro delta_maint__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if temporary -%}
    {{ create_temporary_view(relation, compiled_code) }}
  {%- else -%}
    {%- set constraints = {} -%}
    {%- if config.get('contract').enforced -%}
      {{ get_assert_columns_equivalent(compiled_code) }}
      {%- set compiled_code = get_select_subquery(compiled_code) -%}
      {%- do constraints.update(adapter.constraint_properties(model, resolve_file_format())) -%}
    {%- endif -%}
    {{ config.get('sql_header') or '' }}
    create {{ 'or replace' if resolve_file_format() == 'delta' }} table {{ relation }}
    {{- file_format_clause() }}
    {{- options_clause() }}
    {{- delta_maint__tblproperties_clause(constraints) }}
    {{- partition_cols(label='partitioned by') }}
    {{- clustered_cols(label='clustered by') }}
    {{- location_clause() }}
    {{- comment_clause() }}
    as
    {{ compiled_code }}
  {%- endif -%}
{%- endmacro %}

{% macro delta_maint__create_view_as(relation, sql) -%}
  {{ config.get('sql_header') or '' }}
  create or replace view {{ relation }}
  {%- if config.persist_column_docs() %}
  ({{ get_persist_docs_column_list(model.columns, get_columns_in_query(sql)) }})
  {%- endif %}
  {{- comment_clause() }}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  as
  {{ sql }}
{%- endmacro %}

{% macro get_column_comment_sql(column_name, column_dict) -%}
  {#- The name alone when a column is not described. -#}
  {%- set found = namespace(comment=none) -%}
  {%- for name in column_dict if name | lower == column_name | lower -%}
    {%- set found.comment = column_dict[name]['description'] -%}
  {%- endfor -%}
  {{ adapter.quote(column_name) }}{% if found.comment %} comment {{ adapter.sql_string(found.comment) }}{% endif %}
{%- endmacro %}

{% macro drop_unless_replaceable(existing, target) %}
  {#- Delta replaces Delta in one commit; anything else has to make room first. -#}
  {% if existing is not none %}
    {% if existing.type == 'view' or resolve_file_format() != 'delta' or adapter.table_provider(existing) != 'delta' %}
      {% do adapter.drop_relation(existing) %}
    {% endif %}
  {% endif %}
{% endmacro %}
