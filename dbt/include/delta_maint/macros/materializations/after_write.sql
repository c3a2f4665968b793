{% macro delta_maint_after_write(target_relation, wanted=none, observed=none, statement='main') %}
  {#- What every materialization does once its rows are in the table, maintenance included. `statement` names
      the one that wrote them; `wanted` and `observed` are given when the table was not rebuilt. -#}
  {% set written = load_result(statement) %}
  {% do store_result('main', response=adapter.commit_response(target_relation, written.response), agate_table=written.table) %}
  {% if wanted is not none %}
    {% do adapter.bring_up_settings(target_relation, wanted, observed) %}
  {% elif resolve_file_format() == 'delta' %}
    {% do adapter.tighten_schema(target_relation, model) %}
  {% endif %}
  {% do adapter.bring_up_defaults(target_relation, model, rebuilt=wanted is none) %}
  {% do persist_docs(target_relation, model) %}
  {% do delta_maint_compact_after_write(target_relation) %}
{% endmacro %}
