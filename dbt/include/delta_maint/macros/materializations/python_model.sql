{% macro py_write_view(compiled_code, view_name) %}
{{ compiled_code }}
# --- what the adapter adds: the model's result becomes a temporary view --- #
dbt_delta_maint_view = {{ view_name | tojson }}
config_dict = {**model_config, **config_dict}
dbt = dbtObj(load_relation)
dbt_delta_maint_result = model(dbt, spark)
{% endmacro %}

{% macro python_view_name() %}
  {% do return((this.identifier | replace('.', '_')) ~ '__dbt_py') %}
{% endmacro %}

{% macro delta_maint__resolve_model_name(input_model_name) -%}
  {{ input_model_name | string | replace('"', '\"') }}
{%- endmacro %}
