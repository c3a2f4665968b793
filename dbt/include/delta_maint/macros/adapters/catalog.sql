{% macro delta_maint_statistics(relation) %}
  {#- Bytes and files from the table's detail, rows from the statistics in its log. -#}
  {% if not var('delta_maint_docs_statistics', true) %}
    {% do return(none) %}
  {% endif %}
  {% set detail = run_query('describe detail ' ~ relation).rows[0] %}
  {% set rows = run_query('select count(*) from ' ~ relation).rows[0][0] %}
  {% do return({'bytes': detail['sizeInBytes'], 'num_files': detail['numFiles'], 'num_rows': rows}) %}
{% endmacro %}
