import { describe, expect, it } from '@jest/globals';
import { LockOrder } from './lock-order.js';

const FUNCTIONS = new Map([
  ['begin_work', 'begin perform pg_advisory_xact_lock(2, p_stream); end'],
  ['append_events', 'perform pg_advisory_xact_lock(1, l.id) from unnest(v_ids) l(id);'],
  ['next_bead_id', 'insert into bead_counters as c values (1) on conflict (prefix) do update set last = c.last + 1'],
  ['create', 'perform append_events(p); perform next_bead_id(1, p);'],
]);

/** What is found where each of these is a transaction of its own. */
function found(...transactions: readonly (readonly string[])[]): string[] {
  const order = new LockOrder(FUNCTIONS);
  for (const statements of transactions) {
    const client = {};
    for (const text of ['begin', ...statements, 'commit']) order.note(client, text);
  }
  return order.circles().map((circle) => circle.split('\n')[0]!);
}

const SESSION = 'select s.pk from sessions s where s.pk = $1 for no key update';
const NAME = 'delete from session_names where session_pk = $1';

describe('the order of locks', () => {
  it('finds two transactions that lock the same in two orders', () => {
    expect(found([SESSION, NAME], [NAME, SESSION])).toEqual(['session_names > sessions and back:']);
    expect(found([SESSION, NAME], [SESSION, NAME], [NAME], [SESSION])).toEqual([]);
  });

  it('sees what functions lock, in the order of their text', () => {
    expect(found(['select next_bead_id($1, $2)', 'select * from append_events($1)'], ['select create($1)'])).toEqual([
      'bead_counters > stream and back:',
    ]);
  });

  it('leaves alone what is behind the same lock of a city', () => {
    const [one, two] = [
      [SESSION, NAME],
      [NAME, SESSION],
    ].map((them) => ['select begin_work($1)', ...them]);
    expect(found(one!, two!)).toEqual([]);
    expect(found(one!, [NAME, SESSION])).toHaveLength(1);
  });

  it('leaves alone what is taken only where it is free, and what a transaction has made itself', () => {
    expect(found([SESSION, NAME], [NAME, `${SESSION} skip locked`])).toEqual([]);
    expect(found([SESSION, NAME], ['insert into sessions (pk) values (1)', NAME, SESSION])).toEqual([]);
  });

  it('counts a row that may be there already, and the table that a query of its own names', () => {
    const put = 'insert into session_names as n values ($1) on conflict (name) do update set session_pk = 1';
    expect(found([SESSION, NAME], [put, SESSION])).toHaveLength(1);
    const inner = 'select from sessions s where not exists (select from session_names n where n.session_pk = s.pk) for update';
    expect(found([SESSION, NAME], ['select from session_names for update', inner])).toHaveLength(1);
    expect(found([inner], ['select from session_names for update', inner])).toEqual([]);
  });

  it('takes a row for new that another one beside it in the statement may not be', () => {
    const both = (first: string, second: string): string => `with s as (${first} returning pk) ${second}`;
    const [made, put] = [
      'insert into sessions values ($1)',
      'insert into session_names as n select pk from s on conflict (name) do nothing',
    ];
    expect(found([NAME, SESSION], [both(made, put)])).toEqual([]);
    expect(found([NAME, SESSION], [both(`${made} on conflict (pk) do nothing`, put)])).toHaveLength(1);
  });
});
