-- The part of the variance of fractions y that a line over whole numbers x explains, 0 to 1, the same in
-- whatever order the rows come.
-- Null where x or y does not vary.
create or replace macro steady_r2(y, x) as
(
    count(case when y is not null and x is not null then 1 end)
    * (sum(case when y is not null and x is not null then round(y::double * x * 1e9)::hugeint end) / 1e9)
    - sum(case when y is not null and x is not null then x::hugeint end)
    * (sum(case when y is not null and x is not null then round(y::double * 1e9)::hugeint end) / 1e9)
) ** 2
/ nullif(
    (
        count(case when y is not null and x is not null then 1 end)::double
        * sum(case when y is not null and x is not null then x::hugeint * x::hugeint end)
        - sum(case when y is not null and x is not null then x::hugeint end)::double
        * sum(case when y is not null and x is not null then x::hugeint end)
    )
    * (
        count(case when y is not null and x is not null then 1 end)
        * (sum(case when y is not null and x is not null then round(y::double * y * 1e9)::hugeint end) / 1e9)
        - (sum(case when y is not null and x is not null then round(y::double * 1e9)::hugeint end) / 1e9) ** 2
    ),
    0
)
