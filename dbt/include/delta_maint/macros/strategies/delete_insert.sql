{% macro delta_maint__get_incremental_delete_insert_sql(arg_dict) %}
  {#- One commit: rows whose key arrives are deleted and every arriving row is inserted. The arriving rows
      stand twice in the source, once as keys to delete and once, marked, as rows that match nothing. -#}
  {%- set keys = delta_maint_unique_keys(arg_dict['unique_key']) -%}
  {%- if not keys -%}
    {% do exceptions.raise_compiler_error('incremental_strategy delete+insert needs unique_key.') %}
  {%- endif -%}
  {%- set columns = arg_dict['dest_columns'] | map(attribute='quoted') | list -%}
  {%- set predicates = delta_maint_predicates(arg_dict['incremental_predicates']) %}
  {#- The source's columns have names of their own: a predicate without alias means the table, as in a DELETE. -#}
  merge into {{ arg_dict['target_relation'] }} as DBT_INTERNAL_DEST
  using (
    select distinct {% for column in columns %}{{ column if column in keys else 'null' }} as dbt_source_{{ loop.index }}, {% endfor %}true as dbt_is_key
    from {{ arg_dict['temp_relation'] }}
    union all
    select {% for column in columns %}{{ column }}, {% endfor %}false
    from {{ arg_dict['temp_relation'] }}
  ) as DBT_INTERNAL_SOURCE
  on DBT_INTERNAL_SOURCE.dbt_is_key
  {%- for column in columns %}{% if column in keys %} and DBT_INTERNAL_SOURCE.dbt_source_{{ loop.index }} <=> DBT_INTERNAL_DEST.{{ column }}{% endif %}{% endfor %}
  {%- for predicate in predicates %} and {{ predicate }}{% endfor %}
  when matched then delete
  when not matched and not DBT_INTERNAL_SOURCE.dbt_is_key then insert ({{ columns | join(', ') }})
  values ({% for column in columns %}DBT_INTERNAL_SOURCE.dbt_source_{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %})
{% endmacro %}

{% macro delta_maint_unique_keys(unique_key) %}
  {#- Quoted names, from one name or a list of names. -#}
  {% set names = [] if not unique_key else ([unique_key] if unique_key is string else unique_key) %}
  {% set quoted = [] %}
  {% for name in names %}
    {% do quoted.append(name if name.startswith('`') else adapter.quote(name)) %}
  {% endfor %}
  {% do return(quoted) %}
{% endmacro %}

{% macro delta_maint_predicates(predicates) %}
  {% do return([] if not predicates else ([predicates] if predicates is string else predicates)) %}
{% endmacro %}
