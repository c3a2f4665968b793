{% macro delta_maint__get_incremental_delete_insert_sql(arg_dict) %}
  {#- One commit: rows whose key arrives are deleted and every arriving row is inserted. The arriving rows
      stand twice in the source, once as keys to delete and once, marked, as rows that match nothing. -#}
  {%- set keys = delta_maint_quoted_names(arg_dict['unique_key']) | map('lower') | list -%}
  {%- set columns = arg_dict['dest_columns'] | map(attribute='quoted') | list -%}
  {%- set predicates = delta_maint_predicates(arg_dict['incremental_predicates']) %}
  {#- The source's columns have names of their own: a predicate without alias means the table, as in a DELETE. -#}
  merge into {{ arg_dict['target_relation'] }} as DBT_INTERNAL_DEST
  using (
    select distinct {% for column in columns %}{{ column if column | lower in keys else 'null' }} as dbt_source_{{ loop.index }}, {% endfor %}true as dbt_is_key
    from {{ arg_dict['temp_relation'] }}
    union all
    select {% for column in columns %}{{ column }}, {% endfor %}false
    from {{ arg_dict['temp_relation'] }}
  ) as DBT_INTERNAL_SOURCE
  on DBT_INTERNAL_SOURCE.dbt_is_key
  {%- for column in columns %}{% if column | lower in keys %} and DBT_INTERNAL_SOURCE.dbt_source_{{ loop.index }} <=> DBT_INTERNAL_DEST.{{ column }}{% endif %}{% endfor %}
  {%- for predicate in predicates %} and ({{ predicate }}){% endfor %}
  when matched then delete
  when not matched and not DBT_INTERNAL_SOURCE.dbt_is_key then insert ({{ columns | join(', ') }})
  values ({% for column in columns %}DBT_INTERNAL_SOURCE.dbt_source_{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %})
{% endmacro %}
