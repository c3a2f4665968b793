{% materialization view, adapter='delta_maint' %}
  {{ return(create_or_replace_view()) }}
{% endmaterialization %}
