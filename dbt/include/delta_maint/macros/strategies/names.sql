{% macro delta_maint_quoted_names(names) %}
  {#- From one name or a list of names, quoted by the user or not. -#}
  {% set quoted = [] %}
  {% set given = [] if not names else ([names] if names is string else names) %}
  {% for name in given %}
    {% do quoted.append(name if name.startswith('`') else adapter.quote(name)) %}
  {% endfor %}
  {% do return(quoted) %}
{% endmacro %}

{% macro delta_maint_predicates(predicates) %}
  {% do return([] if not predicates else ([predicates] if predicates is string else predicates)) %}
{% endmacro %}
