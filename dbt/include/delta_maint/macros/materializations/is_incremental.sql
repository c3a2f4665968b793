{% macro is_incremental() %}
  {#- dbt-core knows only its own `incremental`; ours counts too. No queries while parsing. -#}
  {% if not execute %}
    {% do return(False) %}
  {% endif %}
  {% set relation = adapter.get_relation(this.database, this.schema, this.table) %}
  {% do return(relation is not none
      and relation.type == 'table'
      and model.config.materialized in ('incremental', 'delta_optimized')
      and not should_full_refresh()) %}
{% endmacro %}
