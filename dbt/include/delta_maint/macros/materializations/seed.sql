{% materialization seed, adapter='delta_maint' %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set full_refresh = should_full_refresh() -%}
  {%- set agate_table = load_agate_table() -%}
  {%- do store_result('agate_table', response='OK', agate_table=agate_table) -%}

  {{ run_hooks(pre_hooks) }}

  {% if existing is not none and existing.type == 'view' %}
    {% do exceptions.raise_compiler_error("Cannot seed to '{}', it is a view".format(existing.render())) %}
  {% endif %}

  {% if config.get('quote_columns') is sameas false %}
    {% do adapter.refuse_names_that_need_quotes(agate_table.column_names) %}
  {% endif %}

  {% set overrides = {} %}
  {% for name, type in (config.get('column_types') or {}).items() %}
    {% do overrides.update({name | lower: type}) %}
  {% endfor %}
  {% set types = {} %}
  {% for name in agate_table.column_names %}
    {% do types.update({name: overrides.get(name | lower) or adapter.convert_type(agate_table, loop.index0)}) %}
  {% endfor %}
  {% set query = adapter.seed_query(agate_table, (this.identifier | replace('.', '_')) ~ '__dbt_seed', types) %}

  {% do drop_unless_replaceable(existing, target_relation) %}
  {% do adapter.writes_to(target_relation, replaced=existing) %}
  {%- call statement('write_seed') -%}
    {{ create_table_as(False, target_relation, query) }}
  {%- endcall -%}

  {% set code = 'CREATE' if full_refresh else 'INSERT' %}
  {% set rows_affected = agate_table.rows | length %}
  {% call noop_statement('main', code ~ ' ' ~ rows_affected, code, rows_affected) %}
    {{ create_table_as(False, target_relation, query) }}
  {% endcall %}

  {% do apply_grants(target_relation, grant_config, should_revoke=should_revoke(existing, full_refresh)) %}
  {% do delta_maint_after_write(target_relation, statement='write_seed') %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
