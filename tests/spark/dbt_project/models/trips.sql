{{ config(materialized="incremental", incremental_strategy="merge", file_format="hudi", unique_key="id",
          partition_by="city", options={"type": "mor", "orderingFields": "ts"}) }}
select id, fare, ts, city from {{ ref("new_trips") }}
{% if is_incremental() %}
where ts > (select max(ts) from {{ this }})
{% endif %}
