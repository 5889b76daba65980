{% macro listed(columns) -%}
  {#- Columns, quoted, separated by commas. -#}
  {%- for column in columns -%}{{ adapter.quote(column) }}{{ ", " if not loop.last }}{%- endfor -%}
{%- endmacro %}


{% macro interval(column, width, origin=0) -%}
  {#- The label of the interval that a number lies in, as Reticent writes it: '[30, 40)'. Null stays null. -#}
  {%- set low -%}(floor(({{ column }} - {{ origin }}) / {{ width }}.0) * {{ width }} + {{ origin }}){%- endset -%}
  ('[' || cast(cast({{ low }} as integer) as {{ dbt.type_string() }}) || ', ' || cast(cast({{ low }} + {{ width }} as integer) as {{ dbt.type_string() }}) || ')')
{%- endmacro %}


{% macro masked(column, keep, digits) -%}
  {#- The first characters of a code of a fixed length, stars for the rest: '130**'. Null stays null. -#}
  (substring(cast({{ column }} as {{ dbt.type_string() }}) from 1 for {{ keep }}) || '{{ "*" * (digits - keep) }}')
{%- endmacro %}


{% macro grouped(column, groups, other="other") -%}
  {#- The name of the group that a value is listed in: {'Alps': ['Aix', 'Apt'], ...}. Null stays null. -#}
  case
  {%- for name, values in groups.items() %}
    when {{ column }} in ({% for value in values %}'{{ value | replace("'", "''") }}'{{ ", " if not loop.last }}{% endfor %}) then '{{ name | replace("'", "''") }}'
  {%- endfor %}
    when {{ column }} is null then null
    else '{{ other }}'
  end
{%- endmacro %}
