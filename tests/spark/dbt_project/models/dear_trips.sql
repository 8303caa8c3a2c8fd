{{ config(materialized="view") }}
select * from {{ ref("trips") }} where fare > 2
