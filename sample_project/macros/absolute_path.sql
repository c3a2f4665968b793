{#- Spark reads a relative location as one inside the warehouse, so the path has to be absolute here. -#}
{% macro absolute_path(path) -%}
    {%- set rooted = path if is_absolute(path) else adapter.config.project_root ~ '/' ~ path -%}
    {%- if execute and not is_absolute(rooted) -%}
        {%- do exceptions.raise_compiler_error(
            "raw_events_path becomes '" ~ rooted ~ "', which is not absolute: "
            ~ "run dbt inside the project folder, or give --project-dir as an absolute path"
        ) -%}
    {%- endif -%}
    {{ return(rooted) }}
{%- endmacro %}


{% macro is_absolute(path) -%}
    {{ return(modules.re.match('/|[A-Za-z][A-Za-z0-9+.-]*:', path) is not none) }}
{%- endmacro %}
