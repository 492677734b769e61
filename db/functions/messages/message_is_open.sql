-- The one predicate of what lists, counts and threads show.
create or replace function message_is_open(m messages) returns boolean
language sql stable as $$ select m.archived_at is null $$;
