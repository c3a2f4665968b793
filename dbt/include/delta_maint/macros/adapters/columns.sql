{% macro delta_maint__alter_column_type(relation, column_name, new_column_type) %}
  {% call statement('alter_column_type') -%}
    alter table {{ relation.render() }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {%- endcall %}
{% endmacro %}

{% macro delta_maint__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {% if add_columns %}
    {% call statement('add_columns') -%}
      alter table {{ relation.render() }} add columns (
        {%- for column in add_columns %}
        {{ column.quoted }} {{ column.data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
      )
    {%- endcall %}
  {% endif %}
  {% if remove_columns %}
    {% do adapter.allow_dropping_columns(relation) %}
    {% call statement('drop_columns') -%}
      alter table {{ relation.render() }} drop columns ({{ adapter.sql_identifiers(remove_columns | map(attribute='name') | list) }})
    {%- endcall %}
  {% endif %}
{% endmacro %}

{% macro delta_maint__create_columns(relation, columns) %}
  {% do delta_maint__alter_relation_add_remove_columns(relation, columns, none) %}
{% endmacro %}
