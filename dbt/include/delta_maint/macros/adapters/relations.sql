{% macro delta_maint__list_relations_without_caching(schema_relation) %}
  {% call statement('list_relations_without_caching', fetch_result=True) -%}
    show tables in {{ schema_relation.without_identifier() }}
  {%- endcall %}
  {% do return(load_result('list_relations_without_caching').table) %}
{% endmacro %}

{% macro delta_maint_list_views(schema_relation) %}
  {% call statement('list_views', fetch_result=True) -%}
    show views in {{ schema_relation.without_identifier() }}
  {%- endcall %}
  {% do return(load_result('list_views').table) %}
{% endmacro %}

{% macro delta_maint__list_schemas(database) %}
  {% call statement('list_schemas', fetch_result=True, auto_begin=False) -%}
    show schemas in {{ database if database.startswith('`') else adapter.quote(database) }}
  {%- endcall %}
  {% do return(load_result('list_schemas').table) %}
{% endmacro %}

{% macro delta_maint__create_schema(relation) %}
  {% call statement('create_schema') -%}
    create schema if not exists {{ relation.without_identifier() }}
  {%- endcall %}
{% endmacro %}

{% macro delta_maint__drop_schema(relation) %}
  {% call statement('drop_schema') -%}
    drop schema if exists {{ relation.without_identifier() }} cascade
  {%- endcall %}
{% endmacro %}

{% macro delta_maint__get_columns_in_relation_raw(relation) %}
  {% call statement('get_columns_in_relation_raw', fetch_result=True) -%}
    describe table {{ relation.render() }}
  {%- endcall %}
  {% do return(load_result('get_columns_in_relation_raw').table) %}
{% endmacro %}

{% macro delta_maint_describe_extended(relation) %}
  {% call statement('describe_extended', fetch_result=True) -%}
    describe table extended {{ relation.render() }}
  {%- endcall %}
  {% do return(load_result('describe_extended').table) %}
{% endmacro %}

{% macro delta_maint__generate_database_name(custom_database_name=none, node=none) %}
  {% do return(default__generate_database_name(custom_database_name, node)) %}
{% endmacro %}

{% macro delta_maint__make_temp_relation(base_relation, suffix) %}
  {#- A temporary view: it has no catalog and no schema, and ends with the connection. -#}
  {% set temp = base_relation.incorporate(path={'identifier': base_relation.identifier ~ suffix}, type='view') %}
  {% do return(temp.include(database=false, schema=false)) %}
{% endmacro %}

{% macro delta_maint__drop_relation(relation) %}
  {% call statement('drop_relation', auto_begin=False) -%}
    drop {{ relation.type if relation.type in ('view', 'function') else 'table' }} if exists {{ relation }}
  {%- endcall %}
{% endmacro %}

{% macro delta_maint__truncate_relation(relation) %}
  {% call statement('truncate_relation') -%}
    truncate table {{ relation.render() }}
  {%- endcall %}
{% endmacro %}

{% macro delta_maint__get_binding_char() %}
  {% do return('?' if target.method in ('session', 'odbc') else '%s') %}
{% endmacro %}
