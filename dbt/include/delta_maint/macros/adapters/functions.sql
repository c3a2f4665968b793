{% macro delta_maint__scalar_function_sql(target_relation) %}
  CREATE OR REPLACE FUNCTION {{ target_relation }} ({{ formatted_scalar_function_args_sql() }})
  RETURNS {{ model.returns.data_type }}
  {{- scalar_function_volatility_sql() }}
  {{- comment_clause() }}
  RETURN {{ model.compiled_code }}
{% endmacro %}

{% macro delta_maint__formatted_scalar_function_args_sql() %}
  {%- for argument in model.arguments -%}
    {{ adapter.quote(argument.name) }} {{ argument.data_type }}
    {%- if argument.get('default_value') is not none %} DEFAULT {{ argument.default_value }}{% endif -%}
    {{ ', ' if not loop.last }}
  {%- endfor -%}
{% endmacro %}

{% macro delta_maint__scalar_function_volatility_sql() %}
  {%- set volatility = model.config.get('volatility') -%}
  {%- if volatility == 'deterministic' %}
  DETERMINISTIC
  {%- elif volatility == 'non-deterministic' %}
  NOT DETERMINISTIC
  {%- elif volatility is not none -%}
    {% do unsupported_volatility_warning(volatility) %}
  {%- endif -%}
{% endmacro %}

{% macro delta_maint_list_functions(schema_relation) %}
  {% call statement('list_functions', fetch_result=True) -%}
    show user functions in {{ schema_relation.without_identifier() }}
  {%- endcall %}
  {% do return(load_result('list_functions').table) %}
{% endmacro %}
