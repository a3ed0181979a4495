-- One row per day of which there are, or were, records.
--
-- day           -      the day, in UTC
-- records       count  records stored whose time lies in it
-- content       -      fingerprint of them: another one means other records
-- told_content  -      the fingerprint when the day was reported last; null: it was not yet
-- told_at       UTC    when that was
-- incidents     count  confirmed incidents that touch it; null: not reported yet

create table if not exists meta.coverage (
    day date not null,
    records ubigint not null,
    content varchar not null,
    told_content varchar,
    told_at timestamptz,
    incidents uinteger
)
