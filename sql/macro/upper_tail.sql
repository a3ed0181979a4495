-- The probability that a standard normal variable exceeds z, to 1e-7; never below that.
-- Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17. Null where z is.
create or replace macro upper_tail(z) as
if(z is null, null, greatest(
    1e-7,
    if(z < 0, 1, 0)
    + if(z < 0, -1, 1)
    * exp(-(z::double ** 2) / 2)
    / sqrt(2 * pi())
    * (
        0.319381530 / (1 + 0.2316419 * abs(z))
        - 0.356563782 / (1 + 0.2316419 * abs(z)) ** 2
        + 1.781477937 / (1 + 0.2316419 * abs(z)) ** 3
        - 1.821255978 / (1 + 0.2316419 * abs(z)) ** 4
        + 1.330274429 / (1 + 0.2316419 * abs(z)) ** 5
    )
))
