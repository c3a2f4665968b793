{% macro plan_write(model) %}
  {#- dbt run-operation plan_write --args '{model: fct_orders}': what its next run would write; nothing is written. -#}
  {% for line in adapter.write_plan(ref, model) %}
    {% do log(line, info=True) %}
  {% endfor %}
{% endmacro %}
