-- No span was exported twice.
--
-- Nothing: repeated spans are counted once.

select (select count(*) from raw.span) - (select count(*) from norm.span) as repeated
where (select count(*) from raw.span) > (select count(*) from norm.span)
