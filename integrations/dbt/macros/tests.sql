{#
  Generic tests of privacy definitions on a model as it stands. A missing value is a value of its own.
  What a test returns are sizes and counts, one row for each failing group: never a value of the data, also with store_failures.
#}

{% test k_anonymous(model, columns, k) %}
select count(*) as group_size
from {{ model }}
group by {{ reticent.listed(columns) }}
having count(*) < {{ k }}
{% endtest %}


{% test distinct_l_diverse(model, columns, sensitive, l) %}
select
  count(*) as group_size,
  count(distinct {{ adapter.quote(sensitive) }}) + max(case when {{ adapter.quote(sensitive) }} is null then 1 else 0 end) as different_values
from {{ model }}
group by {{ reticent.listed(columns) }}
having count(distinct {{ adapter.quote(sensitive) }}) + max(case when {{ adapter.quote(sensitive) }} is null then 1 else 0 end) < {{ l }}
{% endtest %}


{% test probabilistic_l_diverse(model, columns, sensitive, l) %}
with counted as (
  select {{ reticent.listed(columns) }}, count(*) as times
  from {{ model }}
  group by {{ reticent.listed(columns + [sensitive]) }}
)
select sum(times) as group_size, max(times) as most_frequent
from counted
group by {{ reticent.listed(columns) }}
having max(times) * {{ l }} > sum(times)
{% endtest %}


{% test only_columns(model, columns) %}
{# The columns that a model has beyond those that are listed, by name: what somebody added without saying what becomes of it. #}
{%- set allowed = columns | map("lower") | list -%}
{%- set found = [] -%}
{%- for column in adapter.get_columns_in_relation(model) if column.name | lower not in allowed -%}
  {%- do found.append(column.name) -%}
{%- endfor -%}
{%- if execute and found -%}
  {%- do log("reticent: " ~ model ~ " has columns that are not allowed: " ~ found | join(", "), info=true) -%}
{%- endif -%}
{%- for name in found %}
select '{{ name | replace("'", "''") }}' as column_name{{ " union all" if not loop.last }}
{%- else %}
select 'none' as column_name where 1 = 0
{%- endfor %}
{% endtest %}
