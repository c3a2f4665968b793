{% macro delta_maint_plan_write(target_relation, query, kind, existing=none) %}
  {#- The rows of `query` as a view that gives files of the right size; none when the write is a plain one. -#}
  {% do return(adapter.plan_write(
      relation=target_relation, placed=make_temp_relation(this, '__dbt_placed'), config=config, model=model,
      query=query, kind=kind, existing=existing)) %}
{% endmacro %}

{% macro delta_maint_write(planned) %}
  {#- What `statement('main')` is to a plain write: the caller's SQL, under the settings that were planned for it. -#}
  {%- set sql = caller() -%}
  {%- if planned is none -%}
    {%- call statement('main') -%}{{ sql }}{%- endcall -%}
  {%- else -%}
    {{ write(sql) }}
    {%- do store_result('main', response=adapter.run_write(planned, sql), agate_table=none) -%}
  {%- endif -%}
{% endmacro %}

{% macro delta_maint_create(target_relation, existing, query) %}
  {#- A new table, or a new version of it in one commit. Planning comes first: what fails there changes nothing. -#}
  {% if config.get('contract').enforced %}{% do get_assert_columns_equivalent(query) %}{% endif %}
  {% set planned = delta_maint_plan_write(target_relation, query, 'create', existing) %}
  {% do drop_unless_replaceable(existing, target_relation) %}
  {% do adapter.writes_to(target_relation, replaced=existing) %}
  {%- call delta_maint_write(planned) -%}
    {{ create_table_as(False, target_relation, planned.query if planned else query) }}
  {%- endcall -%}
{% endmacro %}
