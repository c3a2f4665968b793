{% macro delta_maint__get_incremental_merge_sql(arg_dict) %}
  {%- set keys = delta_maint_quoted_names(arg_dict['unique_key']) -%}
  {%- set columns = arg_dict['dest_columns'] -%}
  {%- set source = delta_maint_quoted_names(config.get('source_alias') or 'DBT_INTERNAL_SOURCE')[0] -%}
  {%- set dest = delta_maint_quoted_names(config.get('target_alias') or 'DBT_INTERNAL_DEST')[0] -%}
  {%- set evolve = config.get('merge_with_schema_evolution') -%}
  {%- set updated = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), columns) -%}
  {%- set conditions = [] -%}
  {%- for key in keys %}{% do conditions.append(source ~ '.' ~ key ~ ' <=> ' ~ dest ~ '.' ~ key) %}{% endfor -%}
  {%- if not conditions %}{% do conditions.append('false') %}{% endif -%}
  {%- for predicate in delta_maint_predicates(arg_dict['incremental_predicates']) %}{% do conditions.append('(' ~ predicate ~ ')') %}{% endfor %}
  {{ config.get('sql_header') or '' }}
  merge {{ 'with schema evolution' if evolve }} into {{ arg_dict['target_relation'] }} as {{ dest }}
  using {{ arg_dict['temp_relation'] }} as {{ source }}
  on {{ conditions | join(' and ') }}
  {%- if not config.get('skip_matched_step') %}
  when matched {{ 'and (' ~ config.get('matched_condition') ~ ')' if config.get('matched_condition') }} then update set
    {%- if evolve and not updated %} *
    {%- else %}
    {%- for column in updated or (columns | map(attribute='quoted') | list) %}
    {{ column }} = {{ source }}.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
    {%- endif %}
  {%- endif %}
  {%- if not config.get('skip_not_matched_step') %}
  when not matched {{ 'and (' ~ config.get('not_matched_condition') ~ ')' if config.get('not_matched_condition') }} then insert
    {%- if evolve %} *
    {%- else %} ({{ columns | map(attribute='quoted') | join(', ') }})
    values ({% for column in columns %}{{ source }}.{{ column.quoted }}{{ ', ' if not loop.last }}{% endfor %})
    {%- endif %}
  {%- endif %}
  {%- if config.get('not_matched_by_source_action') %}
  when not matched by source {{ 'and (' ~ config.get('not_matched_by_source_condition') ~ ')' if config.get('not_matched_by_source_condition') }}
    then {{ config.get('not_matched_by_source_action') }}
  {%- endif %}
{% endmacro %}

{% macro delta_maint__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) %}
  {% if merge_update_columns and merge_exclude_columns %}
    {% do exceptions.raise_compiler_error('Model cannot specify merge_update_columns and merge_exclude_columns. Please update model to use only one config') %}
  {% elif merge_update_columns %}
    {% do return(delta_maint_quoted_names(merge_update_columns)) %}
  {% elif merge_exclude_columns %}
    {% set excluded = delta_maint_quoted_names(merge_exclude_columns) | map('lower') | list %}
    {% set kept = [] %}
    {% for column in dest_columns if column.quoted | lower not in excluded %}{% do kept.append(column.quoted) %}{% endfor %}
    {% do return(kept) %}
  {% endif %}
  {% do return([]) %}
{% endmacro %}
