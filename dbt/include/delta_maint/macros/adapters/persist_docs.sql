{% macro delta_maint__persist_docs(relation, model, for_relation, for_columns) %}
  {% if for_columns and config.persist_column_docs() and model.columns and relation.type != 'view' %}
    {% set existing = adapter.get_columns_in_relation(relation) | map(attribute='name') | list %}
    {% do alter_column_comment(relation, validate_doc_columns(relation, model.columns, existing)) %}
  {% endif %}
  {% if for_relation and config.persist_relation_docs() and model.description and is_incremental() %}
    {% call statement('comment_on_table') -%}
      comment on table {{ relation }} is {{ adapter.sql_string(model.description) }}
    {%- endcall %}
  {% endif %}
{% endmacro %}

{% macro delta_maint__alter_column_comment(relation, column_dict) %}
  {#- One statement, so one commit, for all columns. -#}
  {% set described = column_dict.values() | selectattr('description') | list %}
  {% if described %}
    {% call statement('alter_column_comment') -%}
      alter table {{ relation }} alter column
      {%- for column in described %}
      {{ adapter.quote(column['name']) }} comment {{ adapter.sql_string(column['description']) }}{{ ',' if not loop.last }}
      {%- endfor %}
    {%- endcall %}
  {% endif %}
{% endmacro %}

{% macro delta_maint__persist_constraints(relation, model) %}
  {#- Constraints are part of the statement that creates the table. -#}
{% endmacro %}
