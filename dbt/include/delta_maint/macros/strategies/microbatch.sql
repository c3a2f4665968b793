{% macro delta_maint__get_incremental_microbatch_sql(arg_dict) %}
  {#- The rows of one window are replaced in one commit. Windows that are partitions of the table never meet;
      others would conflict in Delta, so their writes take turns. -#}
  {%- set window = delta_maint_batch_window() -%}
  {%- set partitions = config.get('partition_by') or [] -%}
  {%- set partitions = [partitions] if partitions is string else partitions -%}
  {%- if config.get('event_time') | lower not in partitions | map('lower') -%}
    {% do adapter.wait_for_turn(arg_dict['target_relation']) %}
  {%- endif %}
  {{ delta_maint_replace_where(arg_dict, window) }} where {{ window }}
{% endmacro %}

{% macro delta_maint_batch_window() %}
  {%- set batch = model.get('batch') or {} -%}
  {%- set start, end = batch.get('event_time_start'), batch.get('event_time_end') -%}
  {%- if not start or not end -%}
    {% do exceptions.raise_compiler_error('microbatch needs a batch window, and dbt gave none: set event_time, batch_size and begin on the model.') %}
  {%- endif -%}
  {%- set column = delta_maint_quoted_names(config.get('event_time'))[0] -%}
  {% do return(column ~ " >= cast('" ~ start ~ "' as timestamp) and " ~ column ~ " < cast('" ~ end ~ "' as timestamp)") %}
{% endmacro %}
