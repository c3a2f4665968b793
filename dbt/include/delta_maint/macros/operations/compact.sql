{% macro compact(select=none, dry_run=false, budget=none, force=false, zorder=false, rewrite=none, settings=none) %}
  {#- dbt run-operation compact --args '{select: [orders, "tag:daily"], dry_run: true}' -#}
  {% if execute %}
    {% set reports = adapter.compact(graph, {
      'select': select, 'dry_run': dry_run, 'budget': budget, 'force': force, 'zorder': zorder,
      'rewrite': rewrite, 'settings': settings,
    }) %}
    {% for report in reports %}
      {% if dry_run and report.plan %}
        {% for line in report.plan_lines() %}{% do log(line, info=true) %}{% endfor %}
      {% else %}
        {% do delta_maint_tell_compaction(report) %}
      {% endif %}
    {% endfor %}
  {% endif %}
{% endmacro %}
