{% macro delta_maint__get_incremental_microbatch_sql(arg_dict) %}
  {%- set event_time = config.get('event_time') -%}
  {%- set start = model.get('batch', {}).get('event_time_start') -%}
  {%- set end = model.get('batch', {}).get('event_time_end') -%}
  {%- if not start or not end -%}
    {% do exceptions.raise_compiler_error('microbatch needs a batch window, and dbt gave none: set event_time, batch_size and begin on the model.') %}
  {%- endif -%}
  {%- set window = event_time ~ " >= cast('" ~ start ~ "' as timestamp) and " ~ event_time ~ " < cast('" ~ end ~ "' as timestamp)" %}
  {{ delta_maint_replace_where(arg_dict, window) }} where {{ window }}
{% endmacro %}
