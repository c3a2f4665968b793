{#- dbt's own two strategies. Columns are found without case, compared null-safely and quoted where their names
    need it; whatever else `unique_key` says is an expression and stays one. -#}

{% macro snapshot_timestamp_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
  {% set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() %}
  {% set updated_at = delta_maint_snapshot_names(node, config.get('updated_at')) %}
  {#- The column that dbt keeps is compared: a snapshot that was once of the check strategy has no other. -#}
  {% set changed = '(' ~ snapshotted_rel ~ '.' ~ columns.dbt_valid_from ~ ' < ' ~ current_rel ~ '.' ~ updated_at ~ ')' %}
  {% do return(delta_maint_snapshot_strategy(node, updated_at, changed)) %}
{% endmacro %}

{% macro snapshot_check_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
  {% set updated_at = delta_maint_snapshot_names(node, config.get('updated_at')) or snapshot_get_time() %}
  {% set added, checked = snapshot_check_all_get_existing_columns(node, target_exists, config.get('check_cols')) %}
  {% set differences = [] %}
  {% for column in checked or [] %}
    {% do differences.append('not (' ~ snapshotted_rel ~ '.' ~ column ~ ' <=> ' ~ current_rel ~ '.' ~ column ~ ')') %}
  {% endfor %}
  {% set changed = get_true_sql() if added else (differences | join(' or ') or 'false') %}
  {% do return(delta_maint_snapshot_strategy(node, updated_at, '(' ~ changed ~ ')')) %}
{% endmacro %}

{% macro delta_maint_snapshot_strategy(node, updated_at, row_changed) %}
  {% set unique_key = delta_maint_snapshot_names(node, config.get('unique_key')) %}
  {% set hard_deletes = adapter.get_hard_deletes_behavior(config) %}
  {#- dbt joins on the key with = and takes NULL for `no such row`. In a structure NULL is a value like others, and
      the structure itself is never NULL. -#}
  {% set parts = [] %}
  {% for key in ([unique_key] if unique_key is string else unique_key) %}
    {% do parts.append("'k" ~ loop.index ~ "', " ~ key) %}
  {% endfor %}
  {% do return({
    'unique_key': 'named_struct(' ~ parts | join(', ') ~ ')',
    'updated_at': updated_at,
    'row_changed': row_changed,
    'scd_id': snapshot_hash_arguments(api.Relation.scd_args(unique_key, updated_at)),
    'invalidate_hard_deletes': hard_deletes == 'invalidate',
    'hard_deletes': hard_deletes,
  }) %}
{% endmacro %}

{% macro snapshot_check_all_get_existing_columns(node, target_exists, check_cols_config) %}
  {#- Whether a checked column is new, and the checked columns that the snapshot has. -#}
  {% if not target_exists %}
    {% do return((false, [])) %}
  {% endif %}
  {% if check_cols_config == 'all' %}
    {% set checked = get_columns_in_query(node['compiled_code']) %}
  {% elif check_cols_config is iterable and check_cols_config | length > 0 %}
    {% set given = [check_cols_config] if check_cols_config is string else check_cols_config | list %}
    {% set selected = delta_maint_snapshot_names(node, given) | join(', ') %}
    {% set checked = get_columns_in_query('select ' ~ selected ~ ' from (\n' ~ node['compiled_code'] ~ '\n) as subq') %}
  {% else %}
    {% do exceptions.raise_compiler_error("Invalid value for 'check_cols': " ~ check_cols_config) %}
  {% endif %}
  {% set target = adapter.get_relation(database=node.database, schema=node.schema, identifier=node.alias) %}
  {% set known = adapter.get_columns_in_relation(target) | map(attribute='name') | map('lower') | list %}
  {% set kept = [] %}
  {% for column in checked if column | lower in known %}{% do kept.append(adapter.quote(column)) %}{% endfor %}
  {% do return((kept | length < checked | length, kept)) %}
{% endmacro %}

{% macro delta_maint_snapshot_names(node, given) %}
  {#- The query is asked for its columns only when a name cannot stand in SQL as it is. -#}
  {% if given is none or given is undefined %}{% do return(none) %}{% endif %}
  {% set names = [given] if given is string else given | list %}
  {% if adapter.names_need_quotes(names) %}
    {% set known = get_columns_in_query(node['compiled_code']) | map('lower') | list %}
    {% set quoted = [] %}
    {% for name in names %}{% do quoted.append(adapter.quote(name) if name | lower in known else name) %}{% endfor %}
    {% set names = quoted %}
  {% endif %}
  {% do return(names[0] if given is string else names) %}
{% endmacro %}
