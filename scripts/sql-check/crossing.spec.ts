import { expect, it } from '@jest/globals';
import { Crossing } from './crossing.js';

const crossing = new Crossing(['beads', 'sessions', 'event_streams', 'session_entries', 'orders']);

// Guard: two rows of one city are of any city, unless one of them is given.
it.each([
  'select b.id from beads b where b.lease_until < now()',
  'select pk from sessions where delete_pending and exists (select from beads b where b.stream_id = sessions.stream_id)',
  'select b.id from beads b join cities c on c.stream_id = b.stream_id and c.running',
  'select b.id from beads b join cities c using (stream_id)',
  'delete from session_entries e using sessions s where e.session_pk = s.pk',
  'delete from orders where (stream_id, name) in (select o.stream_id, o.name from orders o where o.gone_at < $1)',
  'select b.id from beads b where b.stream_id <> all ($1::integer[]) and b.id = $2',
  'select b.id from beads b join cities c on c.stream_id = b.stream_id where c.name > $1',
  'select b.id from beads b where b.id = any(select unnest($1::text[])) and (b.stream_id = 3 or b.priority = 1)',
  'select b.id from beads b where b.id in (select unnest($1::text[])) or (b.stream_id = 3)',
  'select b.id from beads b, unnest($1::text[]) where (b.stream_id = 3)',
])('may concern several cities: %s', (sql) => {
  expect(crossing.is(sql)).toBe(true);
});

it.each([
  'select b.id from beads b where b.stream_id = $1',
  'select b.id from beads b where b.stream_id = any ($1::integer[])',
  'select b.id from beads b join cities c on c.stream_id = b.stream_id where c.name = $1',
  'update beads b set status = $1 from (select distinct $2::integer as stream_id, i.id from unnest($3::text[]) i (id)) k where b.stream_id = k.stream_id',
  'delete from session_entries e using sessions s where s.pk = $1 and e.session_pk = s.pk',
  'select s.pk from unnest($1::bigint[], $2::text[]) with ordinality as f (stream_id, agent) join sessions s on s.stream_id = f.stream_id',
  'insert into beads (stream_id, id) select $1, d.id from jsonb_to_recordset($2) d (id text)',
  'select id from event_streams where name = $1',
  'select 1 from cities where running',
])('concerns one: %s', (sql) => {
  expect(crossing.is(sql)).toBe(false);
});

// Known blind spots: what a statement means is not understood.
it.each(['select b.id from beads b where b.stream_id = $1 or b.priority = 1', 'select b.id from beads b where not (b.stream_id = $1)'])(
  'is taken for one of one city: %s',
  (sql) => {
    expect(crossing.is(sql)).toBe(false);
  },
);
