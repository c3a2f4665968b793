{% materialization table, adapter='delta_maint', supported_languages=['sql', 'python'] %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set grant_config = config.get('grants') -%}

  {{ run_hooks(pre_hooks) }}

  {% if model['language'] == 'python' %}
    {%- call statement('python_model', language='python') -%}
      {{ py_write_view(compiled_code, python_view_name()) }}
    {%- endcall -%}
    {% set compiled_code = 'select * from ' ~ adapter.quote(python_view_name()) %}
  {% endif %}

  {% do delta_maint_create(target_relation, existing, compiled_code) %}

  {% do apply_grants(target_relation, grant_config, should_revoke(existing, full_refresh_mode=True)) %}
  {% do delta_maint_after_write(target_relation) %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
