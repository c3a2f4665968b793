{% macro delta_maint__safe_cast(field, type) -%}
  {#- A whole array or struct given as text is SQL, not a string to cast. -#}
  {%- set value = field.strip('"').strip("'") if field is string and cast_from_string_unsupported_for(type) else field -%}
  try_cast({{ value }} as {{ type }})
{%- endmacro %}
