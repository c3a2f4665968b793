{% macro auto_compact(relation=none) %}
  {#- A post-hook for any model: `{{ auto_compact() }}`, `{{ auto_compact(policy='eager') }}`. -#}
  {% if execute %}
    {% set report = adapter.auto_compact(relation or this, model, switch=var('delta_maint_auto_compact', none), overrides=kwargs) %}
    {% do delta_maint_tell_compaction(report) %}
  {% endif %}
{% endmacro %}

{% macro delta_maint_compact_after_write(target_relation) %}
  {#- A clone shares its files with another table: merging them would copy them. -#}
  {% if flags.WHICH == 'clone' %}{% do return('') %}{% endif %}
  {% set report = adapter.auto_compact(target_relation, model, switch=var('delta_maint_auto_compact', none)) %}
  {% if report is not none %}
    {% set written = load_result('main') %}
    {% do store_result('main', response=written.response.with_part('auto_compact', report.summary), agate_table=written.table) %}
  {% endif %}
  {% do delta_maint_tell_compaction(report) %}
  {% if adapter.warns_of_missing_deferred_hook(graph) %}
    {% do exceptions.warn('auto_compact is deferred, but nothing does it at the end: add on-run-end: "{{ compact_deferred() }}" to dbt_project.yml.') %}
  {% endif %}
{% endmacro %}

{% macro compact_deferred(budget=none) %}
  {#- on-run-end: what models deferred during the run, most valuable first, under one budget. -#}
  {% if execute %}
    {% set reports = adapter.compact_deferred(budget, var('delta_maint_auto_compact', none)) %}
    {% for report in reports %}
      {% do delta_maint_tell_compaction(report) %}
    {% endfor %}
    {% do adapter.fail_compaction(reports) %}
  {% endif %}
{% endmacro %}

{% macro delta_maint_tell_compaction(report) %}
  {% if report is none %}{% do return('') %}{% endif %}
  {% if report.is_warning %}
    {% do exceptions.warn(report.line()) %}
  {% else %}
    {% do log(report.line(), info=true) %}
  {% endif %}
{% endmacro %}
