-- Variance over mean of whole numbers: 1 for counts of what comes independently. Of sums of integers, since
-- var_samp differs in its last digits from run to run.
-- Null for fewer than two numbers, or where their mean is 0.
create or replace macro spread(x) as
(count(x) * sum(x * x) - sum(x) * sum(x)) / nullif(count(x) * (count(x) - 1), 0) / nullif(avg(x), 0)
