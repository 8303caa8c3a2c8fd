{% snapshot trip_history %}
{{ config(file_format="hudi", target_schema="default", unique_key="id", strategy="check", check_cols=["fare"]) }}
select id, city, fare from {{ ref("trips") }}
{% endsnapshot %}
