{% macro delta_maint__persist_docs(relation, model, for_relation, for_columns) %}
  {#- Only what differs from the table is altered: an unchanged comment makes no commit. -#}
  {% set columns = model.columns if for_columns and config.persist_column_docs() else {} %}
  {% set description = model.description if for_relation and config.persist_relation_docs() else '' %}
  {% if relation.type != 'view' and (columns or description) %}
    {% set found = adapter.table_description(relation) %}
    {% if columns %}
      {% set known = validate_doc_columns(relation, columns, found.columns | map(attribute='name') | list) %}
      {% do alter_column_comment(relation, adapter.other_comments(found, known)) %}
    {% endif %}
    {% if description and description != found.details.get('Comment') %}
      {% call statement('comment_on_table') -%}
        comment on table {{ relation }} is {{ adapter.sql_string(description) }}
      {%- endcall %}
    {% endif %}
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
