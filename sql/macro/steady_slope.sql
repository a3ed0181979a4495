-- The slope of a least-squares line of fractions y over whole numbers x, the same in whatever order the rows
-- come.
-- Null where x does not vary.
create or replace macro steady_slope(y, x) as
(
    count(case when y is not null and x is not null then 1 end)
    * (sum(case when y is not null and x is not null then round(y::double * x * 1e9)::hugeint end) / 1e9)
    - sum(case when y is not null and x is not null then x::hugeint end)
    * (sum(case when y is not null and x is not null then round(y::double * 1e9)::hugeint end) / 1e9)
)
/ nullif(
    (
        count(case when y is not null and x is not null then 1 end)::double
        * sum(case when y is not null and x is not null then x::hugeint * x::hugeint end)
        - sum(case when y is not null and x is not null then x::hugeint end)::double
        * sum(case when y is not null and x is not null then x::hugeint end)
    ),
    0
)
