-- Trigger of keys: who ends the secret before the present one ends the one before that, too. A replica of the release before names only the first.
create or replace function end_earlier_secret() returns trigger language plpgsql as $$
begin
  new.earlier_hash := null;
  new.earlier_until := null;
  return new;
end $$;
