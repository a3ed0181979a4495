-- One row per service: from which length on its prompts are long, and why from there.
--
-- service            -          service that answered
-- long_from_tokens   tokens     a prompt of this length or more is long
-- chosen             -          set: by the user. valley: from the lengths. default: no length parts them
-- why                -          how it was chosen, or why the default stands
-- counted            count      requests with a known prompt length, probes left out
-- long_ratio         ratio 0-1  share of long ones among these
-- short_mean_tokens  tokens     length of the others, mean
-- long_mean_tokens   tokens     length of the long, mean

select
    service,
    long_from_tokens,
    chosen,
    why,
    counted,
    long_ratio,
    short_mean_tokens,
    long_mean_tokens
from mart.prompt_length
order by service
