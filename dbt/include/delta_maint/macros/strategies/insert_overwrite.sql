{% macro delta_maint__get_incremental_insert_overwrite_sql(arg_dict) %}
  {#- With partition_by only the partitions that arrive are replaced; without it the whole table is. -#}
  {%- set columns = arg_dict['dest_columns'] | map(attribute='quoted') | join(', ') -%}
  {%- if config.get('partition_by') -%}
    {%- call statement('partition_overwrite_mode') -%}
      set spark.sql.sources.partitionOverwriteMode = dynamic
    {%- endcall -%}
  {%- endif %}
  insert overwrite {{ arg_dict['target_relation'] }} ({{ columns }})
  select {{ columns }} from {{ arg_dict['temp_relation'] }}
{% endmacro %}
