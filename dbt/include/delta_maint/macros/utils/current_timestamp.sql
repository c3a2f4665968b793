{% macro delta_maint__current_timestamp_backcompat() -%}
  current_timestamp()
{%- endmacro %}
