import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createPool, type PgPool } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { insertSession, logOf, said, write, type TestSession } from '../../../../test/support/transcripts.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionDeletionsRepository } from '../sessions/session-deletions.repository.js';
import type { SessionRow } from '../session-store/session-row.js';
import { TranscriptLogRepository } from './transcript-log.repository.js';
import type { TranscriptLogService } from './transcript-log.service.js';

interface Row {
  readonly seq: number;
  readonly rev: number;
  readonly entry_id: string;
  readonly status: string;
  readonly text: string;
}

describe('the log of a session', () => {
  let fixture: WorkFixture;
  let extra: PgPool;
  let a: TranscriptLogService;
  let b: TranscriptLogService;

  beforeAll(async () => {
    fixture = await workFixture();
    extra = createPool((fixture.pool as unknown as { options: { connectionString: string } }).options.connectionString);
    a = logOf(fixture.pool);
    b = logOf(extra);
  });
  afterAll(async () => {
    await extra.end();
    await fixture.close();
  });

  const session = (): Promise<TestSession> => insertSession(fixture.db, fixture.city.streamId);
  const entries = async ({ pk }: TestSession): Promise<Row[]> =>
    (
      await sql<Row>`select seq, rev, entry_id, status, blocks -> 0 ->> 'text' as text from session_entries
        where session_pk = ${pk} order by seq`.execute(fixture.db)
    ).rows;
  const log = async ({ pk }: TestSession): Promise<Record<string, unknown>> =>
    (await sql<Record<string, unknown>>`select * from session_logs where session_pk = ${pk}`.execute(fixture.db)).rows[0]!;

  it('keeps the place of an entry that is written again and gives it a new position', async () => {
    const s = await session();
    expect(await a.append(write(s, [said('1.1', 'one'), said('1.2', 'tw', { status: 'partial' })]))).toEqual({ head: 2 });
    expect(await a.append(write(s, [said('1.2', 'two'), said('1.3', 'three')]))).toEqual({ head: 4 });
    expect(await entries(s)).toEqual([
      { seq: 1, rev: 1, entry_id: '1.1', status: 'final', text: 'one' },
      { seq: 2, rev: 3, entry_id: '1.2', status: 'final', text: 'two' },
      { seq: 4, rev: 4, entry_id: '1.3', status: 'final', text: 'three' },
    ]);
    expect(await log(s)).toMatchObject({ head: 4, entries: 3, compactions: 0 });
  });

  it('ends what a process that is gone had begun, each under a new position', async () => {
    const s = await session();
    const begun = { status: 'partial' as const };
    const tool = said('1.4', 'tool', { ...begun, kind: 'tool', role: 'tool' });
    await a.append(
      write(s, [said('1.1', 'whole'), said('1.2', 'par', begun), said('prompt.1', 'hello', { ...begun, role: 'user' }), tool]),
    );
    await new Transactions(fixture.db, new Failpoints()).run((tx) =>
      new TranscriptLogRepository(fixture.pool).settle(tx, s.pk, s.generation),
    );
    expect((await entries(s)).map(({ rev, status }) => [rev, status])).toEqual([
      [1, 'final'],
      [5, 'final'],
      [3, 'partial'],
      [6, 'unknown'],
    ]);
    expect(await log(s)).toMatchObject({ head: 6 });
  });

  it('ends a tool also when much was said after it had begun, and none of another process', async () => {
    const s = await session();
    const begun = { status: 'partial' as const, kind: 'tool' as const, role: 'tool' as const };
    await a.append(write(s, [said('1.1', 'runs', begun), said('1.2', 'another one', begun), said('1.3', 'over')]));
    await sql`update session_entries set generation = 7 where session_pk = ${s.pk} and entry_id = '1.2'`.execute(fixture.db);
    const more = Array.from({ length: 600 }, (_, n) => said(`2.${n}`, 'x'));
    await a.append(write(s, more));
    await new Transactions(fixture.db, new Failpoints()).run((tx) =>
      new TranscriptLogRepository(fixture.pool).settle(tx, s.pk, s.generation),
    );
    const first = (await entries(s)).slice(0, 4);
    expect(first.map(({ rev, status }) => [rev, status])).toEqual([[604, 'unknown'], [2, 'partial'], [3, 'final'], [4, 'final']]); // prettier-ignore
    expect(await log(s)).toMatchObject({ head: 604 });
  });

  it('takes the last of two entries with one id in one write', async () => {
    const s = await session();
    await a.append(write(s, [said('1.1', 'a'), said('1.2', 'b'), said('1.1', 'aa')]));
    expect((await entries(s)).map((e) => e.text)).toEqual(['aa', 'b']);
  });

  it('tells activity with a position of its own, only when it changes', async () => {
    const s = await session();
    await a.append(write(s, [said('1.1', 'a')], { activity: 'in-turn', model: 'm', contextUsed: 5, contextWindow: 9 }));
    expect(await log(s)).toMatchObject({ head: 2, activity: 'in-turn', activity_rev: 2, model: 'm', context_used: 5, context_window: 9 });
    await a.append(write(s, [], { activity: 'in-turn' }));
    expect(await log(s)).toMatchObject({ head: 2, activity_rev: 2, model: 'm' });
    await a.append(write(s, [], { activity: 'idle' }));
    expect(await log(s)).toMatchObject({ head: 3, activity: 'idle', activity_rev: 3 });
  });

  it('refuses another generation and a session that no runner holds, and writes nothing of it', async () => {
    const s = await session();
    expect(await a.append(write({ ...s, generation: 2 }, [said('2.1', 'x')]))).toBe('fenced');
    await sql`update sessions set runner_id = null, live = false where pk = ${s.pk}`.execute(fixture.db);
    expect(await a.append(write(s, [said('1.1', 'x')], { activity: 'in-turn' }))).toBe('fenced');
    expect(await entries(s)).toEqual([]);
    expect(await log(s)).toMatchObject({ head: 0, activity: 'idle' });
  });

  it('sees a session that is taken away while it waits for the log', async () => {
    const s = await session();
    const fencing = await extra.connect();
    await fencing.query('begin');
    await fencing.query('update sessions set runner_id = null, live = false where pk = $1', [s.pk]);
    await fencing.query('update session_logs set head = head + 1 where session_pk = $1', [s.pk]);
    const appended = a.append(write(s, [said('1.1', 'late')]));
    const waits = async (): Promise<boolean> =>
      (
        await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%append_session_logs%'`.execute(
          fixture.db,
        )
      ).rows.length > 0;
    while (!(await waits())) await new Promise((resolve) => setTimeout(resolve, 10));
    await fencing.query('commit');
    fencing.release();
    expect(await appended).toBe('fenced');
    expect(await entries(s)).toEqual([]);
  });

  it('gives every write of two processes at once its own positions', async () => {
    const s = await session();
    const other = await session();
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const at = n % 2 === 0 ? a : b;
        await at.append(write(s, [said(`1.${n}`, `${n}`), said('1.shared', `${n}`)]));
        await at.append(write(other, [said(`1.${n}`, `${n}`)]));
      }),
    );
    const rows = await entries(s);
    expect(new Set(rows.map((r) => r.seq)).size).toBe(61);
    expect(new Set(rows.map((r) => r.rev)).size).toBe(61);
    expect(await log(s)).toMatchObject({ head: 120, entries: 61 });
    expect(await log(other)).toMatchObject({ head: 60, entries: 60 });
  });

  it('keeps the order of the calls for one session', async () => {
    const s = await session();
    await Promise.all(Array.from({ length: 50 }, (_, n) => a.append(write(s, [said('1.1', `${n}`), said(`1.${n + 2}`, `${n}`)]))));
    const rows = await entries(s);
    expect(rows.map((r) => r.text)).toEqual(['49', ...Array.from({ length: 50 }, (_, n) => `${n}`)]);
  });

  it('stores what no text of a database can hold, replaced, and fails for nobody else', async () => {
    const s = await session();
    const other = await session();
    await Promise.all([
      a.append(write(s, [said('1.1', 'nul \u0000, half \ud800, text \\u0000 \\ud800, whole 😀')])),
      a.append(write(other, [said('1.1', 'fine')])),
    ]);
    expect((await entries(s))[0]!.text).toBe('nul �, half �, text \\u0000 \\ud800, whole 😀');
    const wrong = { ...said('1.2', 'x'), kind: 'nonsense' as 'message' };
    const [bad, good] = await Promise.allSettled([a.append(write(s, [wrong])), a.append(write(other, [said('1.2', 'also fine')]))]);
    expect([bad.status, good.status]).toEqual(['rejected', 'fulfilled']);
    expect((await entries(other)).map((e) => e.text)).toEqual(['fine', 'also fine']);
  });

  it('belongs to the transaction that it is written in', async () => {
    const s = await session();
    const failing = fixture.transactions.run(async (tx) => {
      expect(await a.appendIn(tx, write(s, [said('1.1', 'x')]))).toEqual({ head: 1 });
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await entries(s)).toEqual([]);
    expect(await log(s)).toMatchObject({ head: 0, entries: 0 });
  });

  it('goes with its session', async () => {
    const s = await session();
    await a.append(write(s, [said('1.1', 'x')]));
    await sql`update sessions set state = 'closed', closed_at = now(), delete_pending = true where pk = ${s.pk}`.execute(fixture.db);
    expect(await new SessionDeletionsRepository(fixture.db).delete(s.pk)).toBe(true);
    expect(await entries(s)).toEqual([]);
    expect(await a.append(write(s, [said('1.2', 'y')]))).toBe('fenced');
  });

  it('is told things by the service, whoever holds the session', async () => {
    const s = await session();
    await sql`update sessions set runner_id = null, live = false where pk = ${s.pk}`.execute(fixture.db);
    const touched: unknown[] = [];
    const row = { pk: s.pk, generation: 1, epoch: 1 } as SessionRow;
    await fixture.transactions.run(async (tx) => {
      const changes = { tx, touch: (one: unknown) => void touched.push(one) } as unknown as SessionChanges;
      await a.note(changes, row, { text: 'The conversation begins anew.', kind: 'compaction', event: 'restarted' });
      await a.note(changes, row, { id: 'closed', text: 'Closed.' });
    });
    expect(touched).toEqual([row, row]);
    expect((await entries(s)).map((e) => [e.entry_id, e.text])).toEqual([['note.1', 'The conversation begins anew.'], ['closed', 'Closed.']]); // prettier-ignore
    expect(await log(s)).toMatchObject({ head: 2, entries: 2, compactions: 1 });
  });
});
