-- A mean of fractions that is the same in whatever order threads bring the rows: over whole billionths.
create or replace macro steady_avg(x) as
sum(case when isfinite(x::double) then round(x::double * 1e9)::hugeint end)
/ nullif(count(case when isfinite(x::double) then 1 end), 0) / 1e9
