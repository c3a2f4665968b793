{% macro delta_maint__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {#- A limit counts values, so they are joined by a character that text does not hold, and cut apart again. -#}
  {%- set separator = "'\\u001f'" -%}
  {%- set order = ' within group (' ~ order_by_clause ~ ')' if order_by_clause else '' -%}
  {%- if limit_num -%}
    array_join(slice(split(listagg({{ measure }}, {{ separator }}){{ order }}, {{ separator }}), 1, {{ limit_num }}), {{ delimiter_text }})
  {%- else -%}
    listagg({{ measure }}, {{ delimiter_text }}){{ order }}
  {%- endif -%}
{%- endmacro %}
