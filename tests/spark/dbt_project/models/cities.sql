{{ config(materialized="table", file_format="hudi", unique_key="city") }}
select city, count(*) as trips from {{ ref("new_trips") }} group by city
