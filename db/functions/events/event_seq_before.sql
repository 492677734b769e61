-- The newest seq of a stream before p_ts, or its floor. Whoever says much has one among the last that all have said by then. Of the others: within a
-- stream time never goes back, and seqs have no gaps but those between epochs, so halving finds it in some twenty lookups however long the log is, and
-- in forty more where it had epochs; each looks into every part of the log.
create or replace function event_seq_before(p_stream integer, p_ts timestamptz) returns bigint
language plpgsql stable as $$
declare
  v_low bigint;
  v_high bigint;
  v_mid bigint;
  v_seq bigint;
  v_ts timestamptz;
begin
  select s.floor, s.head into v_low, v_high from event_streams s where s.id = p_stream;
  select l.seq into v_seq
  from (select e.stream_id, e.seq from events e where e.ts < p_ts order by e.ts desc, e.stream_id desc, e.seq desc limit 128) l
  where l.stream_id = p_stream limit 1;
  if found then return greatest(v_low, v_seq); end if;
  while v_low < v_high loop
    v_mid := (v_low + v_high + 1) / 2;
    select e.seq, e.ts into v_seq, v_ts from events e where e.stream_id = p_stream and e.seq >= v_mid order by e.seq limit 1;
    if v_ts is null or v_ts < p_ts then v_low := greatest(v_mid, v_seq); else v_high := v_mid - 1; end if;
  end loop;
  return v_low;
end $$;
