{% macro delta_maint__alter_column_type(relation, column_name, new_column_type) %}
  {% call statement('alter_column_type') -%}
    alter table {{ relation.render() }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {%- endcall %}
{% endmacro %}

{% macro delta_maint__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {% do adapter.alter_columns(relation, add_columns, remove_columns) %}
{% endmacro %}

{% macro delta_maint__create_columns(relation, columns) %}
  {% do delta_maint__alter_relation_add_remove_columns(relation, columns, none) %}
{% endmacro %}

{% macro delta_maint__get_columns_in_relation(relation) %}
  {#- dbt-spark returns the rows of DESCRIBE here, which snapshots then take for columns without a name. -#}
  {% do return(adapter.get_columns_in_relation(relation)) %}
{% endmacro %}

{% macro delta_maint__get_column_names() %}
  {#- The columns of a contract, in its order; names that need quotes get them. -#}
  {{- delta_maint_quoted_names(model['columns'].values() | map(attribute='name') | list) | join(', ') -}}
{% endmacro %}

{% macro delta_maint__get_empty_schema_sql(columns) %}
  {#- dbt's own knows when a type is missing or vague; only the names are ours. -#}
  {% set quoted = {} %}
  {% for key, column in columns.items() %}
    {% set copy = {} %}{% do copy.update(column) %}{% do copy.update({'quote': not column['name'].startswith('`')}) %}
    {% do quoted.update({key: copy}) %}
  {% endfor %}
  {{- return(default__get_empty_schema_sql(quoted)) -}}
{% endmacro %}
