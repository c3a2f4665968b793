{% macro delta_maint__get_incremental_insert_overwrite_sql(arg_dict) %}
  {#- With partition_by only the partitions that arrive are replaced; without it the whole table is. An option of
      the statement says which: a SET would stay for the models that come after. -#}
  {%- set columns = arg_dict['dest_columns'] | map(attribute='quoted') | join(', ') -%}
  {%- set mode = 'dynamic' if config.get('partition_by') else 'static' %}
  insert overwrite {{ arg_dict['target_relation'] }} with ({{ adapter.sql_properties({'partitionOverwriteMode': mode}) }}) ({{ columns }})
  select {{ columns }} from {{ arg_dict['temp_relation'] }}
{% endmacro %}
