/** pgbench scripts. `emit` ones hold the statement of the service's own emit path, the others are floors. */

const item = (key: string): string =>
  `{"stream":"' || :city || '","type":"bench.tick","version":1,"actor":"agent-7","subject":"row-1",` +
  `"payload":{"row_id":7,"title":"write the report"}${key}}`;
const KEY = `,"key":"k' || :k || '","hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`;

/** One emit with an idempotency record. Drawn over cities 1 to `cities`. */
export const emit = (cities: number): string => `\\set c random(1, ${cities})
\\set k random(1, 9000000000000000000)
select ord, outcome, seq from emit_event(${city()}, ('${item(KEY).replace(':city', city())}')::jsonb, true);
`;

/** The same, in batches as the service's committer makes them. */
export const emitBatch = (cities: number, size: number): string => `\\set c random(1, ${cities})
select ord, outcome, seq from emit_events(('[${Array.from({ length: size }, () => item('').replace(':city', city())).join(',')}]')::jsonb, true, '[]');
`;

/** The mistake: NOTIFY inside the writing transaction. */
export const emitNotify = (cities: number): string => {
  const [c, k, statement] = emit(cities).trim().split('\n');
  return `${c}\n${k}\nbegin;\n${statement}\nselect pg_notify('floor', '1');\ncommit;\n`;
};

/** A row and no log at all: three round trips. */
export const rowOnly = (cities: number): string => `\\set c random(1, ${cities})
begin;
insert into floor_row (city, title) values (:c, 'write the report');
commit;
`;

/** A row, the city's counter raised with its event, as an application without functions sends it: four round trips. */
export const counterRow = (cities: number): string => `\\set c random(1, ${cities})
begin;
insert into floor_row (city, title) values (:c, 'write the report');
with h as (update floor_city set head = head + 1 where id = :c returning id, head) insert into floor_event (city, seq, type, actor, subject, payload) select id, head, 'row.created', 'agent-7', 'row-1', '{"row_id":7,"title":"write the report"}' from h;
commit;
`;

function city(): string {
  return `'city-' || lpad(:c::text, 5, '0')`;
}
