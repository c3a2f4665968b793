{% macro compact(select=none, dry_run=false, budget=none, force=false, zorder=false, rewrite=none, settings=none, format='table') %}
  {#- dbt run-operation compact --args '{select: [orders, "tag:daily"], dry_run: true}' -#}
  {% if execute %}
    {% set reports = adapter.compact(graph, dict(kwargs,
      select=select, dry_run=dry_run, budget=budget, force=force, zorder=zorder,
      rewrite=rewrite, settings=settings, format=format,
    )) %}
    {% for report in reports %}
      {% if format == 'json' %}
        {% do log(report.json_line(), info=true) %}
      {% elif report.is_dry_run %}
        {% for line in report.plan_lines() %}{% do log(line, info=true) %}{% endfor %}
      {% else %}
        {% do delta_maint_tell_compaction(report) %}
      {% endif %}
    {% endfor %}
    {% if reports and format == 'table' %}{% do log('all of it as JSON: ' ~ adapter.compaction_log(), info=true) %}{% endif %}
    {% do adapter.fail_compaction(reports) %}
  {% endif %}
{% endmacro %}
