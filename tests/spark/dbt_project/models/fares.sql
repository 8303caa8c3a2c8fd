{{ config(materialized="incremental", incremental_strategy="insert_overwrite", file_format="hudi", unique_key="city") }}
select city, sum(fare) as fare, count(*) as trips from {{ ref("trips") }} group by city
