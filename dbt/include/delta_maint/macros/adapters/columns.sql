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
