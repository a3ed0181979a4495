-- A sum of fractions that is the same in whatever order threads bring the rows: over whole billionths.
-- Sums of DOUBLE differ in their last digits from run to run, which would make no two reports alike.
create or replace macro steady_sum(x) as
sum(case when isfinite(x::double) then round(x::double * 1e9)::hugeint end) / 1e9
