{% macro delta_maint__can_clone_table() %}
  {% do return(True) %}
{% endmacro %}

{% macro delta_maint__create_or_replace_clone(this_relation, defer_relation) %}
  create or replace table {{ this_relation }} shallow clone {{ defer_relation }}
{% endmacro %}

{% materialization clone, adapter='delta_maint' %}
  {%- set nothing = {'relations': []} -%}
  {%- if not defer_relation -%}
    {{ log('No relation found in state manifest for ' ~ model.unique_id, info=True) }}
    {{ return(nothing) }}
  {%- endif -%}

  {%- set existing = load_cached_relation(this) -%}
  {%- if existing and not flags.FULL_REFRESH -%}
    {{ log('Relation ' ~ existing ~ ' already exists', info=True) }}
    {{ return(nothing) }}
  {%- endif -%}

  {%- set original = load_cached_relation(defer_relation) -%}
  {%- if original and original.type == 'table' and can_clone_table() -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- if target_relation.render() | lower == defer_relation.render() | lower -%}
      {{ log('Target relation and defer relation are the same, skipping clone for relation: ' ~ target_relation.render()) }}
      {{ return({'relations': [target_relation]}) }}
    {%- endif -%}
    {#- Delta clones only onto a table that is not there or is empty. -#}
    {% if existing is not none %}{% do adapter.drop_relation(existing) %}{% endif %}
    {% call statement('main') %}
      {{ create_or_replace_clone(target_relation, defer_relation) }}
    {% endcall %}
    {% do apply_grants(target_relation, config.get('grants'), should_revoke=should_revoke(existing, full_refresh_mode=True)) %}
    {% do delta_maint_after_write(target_relation) %}
    {{ return({'relations': [target_relation]}) }}
  {%- endif -%}

  {{ return(materialization_view_delta_maint()) }}
{% endmaterialization %}
