{% macro get_incremental_replace_where_sql(arg_dict) %}
  {%- set predicates = delta_maint_predicates(arg_dict['incremental_predicates']) -%}
  {%- if not predicates -%}
    {% do exceptions.raise_compiler_error('incremental_strategy replace_where needs incremental_predicates: the rows they select are replaced.') %}
  {%- endif %}
  {{ delta_maint_replace_where(arg_dict, '(' ~ predicates | join(') and (') ~ ')') }}
{% endmacro %}

{% macro delta_maint_replace_where(arg_dict, condition) %}
  insert into {{ arg_dict['target_relation'] }} by name
  replace where {{ condition }}
  select {{ arg_dict['dest_columns'] | map(attribute='quoted') | join(', ') }}
  from {{ arg_dict['temp_relation'] }}
{% endmacro %}
