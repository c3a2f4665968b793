{#- Parquet becomes Delta: the arguments are checked, and everything is done, in Python. -#}
{% macro convert_to_delta() %}
  {% do return(adapter.convert_to_delta(kwargs, graph.sources)) %}
{% endmacro %}


{#- Takes a conversion back while nothing was written to the table since. -#}
{% macro undo_convert() %}
  {% do return(adapter.undo_convert(kwargs, graph.sources)) %}
{% endmacro %}
