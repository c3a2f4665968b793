{% macro delta_maint_statistics(relation) %}
  {#- Bytes and files from the table's detail; rows only where Delta can count them from the statistics in its
      log, which the plan shows: no data file is ever read for the documentation. -#}
  {% if not var('delta_maint_docs_statistics', true) %}
    {% do return(none) %}
  {% endif %}
  {% set detail = run_query('describe detail ' ~ relation).rows[0] %}
  {% set found = {'bytes': detail['sizeInBytes'], 'num_files': detail['numFiles'], 'num_rows': none} %}
  {% set count_rows = 'select count(*) from ' ~ relation %}
  {% if 'FileScan' not in run_query('explain ' ~ count_rows).rows[0][0] %}
    {% do found.update({'num_rows': run_query(count_rows).rows[0][0]}) %}
  {% endif %}
  {% do return(found) %}
{% endmacro %}
