{% materialization delta_optimized, adapter='delta_maint', supported_languages=['sql', 'python'] %}
  {#- `incremental` with optimized_write: auto. dbt lets only the body of a materialization run Python. -#}
  {% do delta_maint_check_incremental() %}
  {{ run_hooks(pre_hooks) }}
  {% if model['language'] == 'python' %}
    {%- call statement('python_model', language='python') -%}
      {{ py_write_view(compiled_code, python_view_name()) }}
    {%- endcall -%}
  {% endif %}
  {{ return(delta_maint_incremental()) }}
{% endmaterialization %}
