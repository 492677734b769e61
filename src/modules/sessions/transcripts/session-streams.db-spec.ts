import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { SessionReplica } from '../../../../test/support/session-replica.js';
import { SlowClient } from '../../../../test/support/slow-client.js';
import { eventually, openStream, type Frame, type OpenStream } from '../../../../test/support/sse.js';
import { insertSession, said, write, type TestSession } from '../../../../test/support/transcripts.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { turnOf } from './conversation.js';
import type { EntryWrite } from './entries.js';
import { plainId, type View } from './session-frames.js';
import { entryColumns, SESSION_STEP, type EntryRow } from './entry-row.js';
import { sleep } from '../../../platform/time/clock.js';

/** What a client knows after some frames. */
interface Known {
  readonly turns: Map<string, string>;
  readonly pending: Set<string>;
  activity: string | undefined;
  id: string | undefined;
}

const nothing = (): Known => ({ turns: new Map(), pending: new Set(), activity: undefined, id: undefined });
const copy = (k: Known): Known => ({ ...k, turns: new Map(k.turns), pending: new Set(k.pending) });

/** A snapshot begins: what is known of before counts no more. */
function forget({ turns, pending }: Known): void {
  turns.clear();
  pending.clear();
}

function fold(known: Known, frame: Frame): void {
  if (frame.event === 'turn') {
    if (frame.data.pagination !== undefined) forget(known);
    for (const turn of frame.data.turns) {
      if (turn.text === '' || turn.status === 'superseded') known.turns.delete(turn.id as string);
      else known.turns.set(turn.id as string, turn.text as string);
    }
  } else if (frame.event === 'structured') {
    if (frame.data.operation !== 'upsert') forget(known);
    for (const message of frame.data.structured_messages) {
      if (message.status === 'superseded') known.turns.delete(message.id as string);
      else known.turns.set(message.id as string, message.blocks.map((b: { text?: string }) => b.text).join(''));
    }
  } else if (frame.event === 'activity') known.activity = frame.data.activity;
  else if (frame.event === 'pending') known.pending.add(frame.data.request_id as string);
  else if (frame.event === 'pending_cleared') known.pending.delete(frame.data.request_id as string);
  known.id = frame.id ?? known.id;
}

const shown = ({ turns, pending, activity }: Known): unknown => ({
  turns: Object.fromEntries([...turns].sort()),
  pending: [...pending].sort(),
  activity,
});
const pick = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)]!;
const AGENTS = ['pol', 'kim', 'lou'];

describe('streams of sessions on two replicas', () => {
  let fixture: WorkFixture;
  let a: SessionReplica;
  let b: SessionReplica;
  const opened: OpenStream[] = [];
  let asked = 0;

  beforeAll(async () => {
    fixture = await workFixture();
    const url = (fixture.pool as unknown as { options: { connectionString: string } }).options.connectionString;
    [a, b] = await Promise.all([SessionReplica.start(url, fixture.city, AGENTS), SessionReplica.start(url, fixture.city, AGENTS)]);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((s) => s.close()));
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await Promise.all([a.stop(), b.stop()]);
    await fixture.close();
  });

  const session = (over: Parameters<typeof insertSession>[2] = {}): Promise<TestSession> =>
    insertSession(fixture.db, fixture.city.streamId, over);
  const open = async (replica: SessionReplica, path: string, headers: Record<string, string> = {}): Promise<OpenStream> => {
    const stream = await openStream(`${replica.url}${path}`, { headers });
    opened.push(stream);
    return stream;
  };
  const headOf = async (pk: number): Promise<number> =>
    (await sql<{ head: number }>`select head from session_logs where session_pk = ${pk}`.execute(fixture.db)).rows[0]!.head;

  const ask = async (pk: number, requestId: string): Promise<void> => {
    await sql`with l as (update session_logs set head = head + 1 where session_pk = ${pk} returning head)
      insert into session_interactions (stream_id, session_pk, request_id, generation, kind, prompt, options, opened_rev)
      select ${fixture.city.streamId}, ${pk}, ${requestId}, 1, 'approval', 'May I?', '[{"id":"y","label":"Yes"}]', head from l`.execute(
      fixture.db,
    );
    a.signals.markNow(`s${pk}`);
  };
  const settle = async (pk: number, requestId: string): Promise<void> => {
    await sql`with l as (update session_logs set head = head + 1 where session_pk = ${pk} returning head)
      update session_interactions set status = 'answered', closed_rev = l.head, closed_at = now() from l
      where session_pk = ${pk} and request_id = ${requestId}`.execute(fixture.db);
    b.signals.markNow(`s${pk}`);
  };

  /** What a client that has everything knows. */
  async function truth(pk: number): Promise<Known> {
    const { rows } = await sql<EntryRow>`select ${entryColumns(false)} from session_entries e where e.session_pk = ${pk}`.execute(
      fixture.db,
    );
    const { rows: log } = await sql<{ activity: string; pending: string[] | null }>`
      select activity, (select array_agg(request_id) from session_interactions i where i.session_pk = l.session_pk and status = 'open') as pending
      from session_logs l where session_pk = ${pk}`.execute(fixture.db);
    const turns = rows.map((row) => turnOf(row, false)).filter(({ text }) => text !== '');
    return {
      turns: new Map(turns.map(({ id, text }) => [id!, text])),
      pending: new Set(log[0]!.pending ?? []),
      activity: log[0]!.activity,
      id: undefined,
    };
  }

  /** Writes a random history: entries that begin, grow, end and are taken back, activity, questions. */
  async function live(s: TestSession, steps: number): Promise<void> {
    let n = 0;
    const partial = new Map<string, string>();
    const openQuestions: string[] = [];
    for (let i = 0; i < steps; i++) {
      const log = pick([a, b]).log;
      const entries: EntryWrite[] = [];
      for (let k = Math.floor(Math.random() * 4); k > 0; k--) {
        const known = [...partial];
        if (known.length > 0 && Math.random() < 0.6) {
          const [id, text] = pick(known);
          const status = pick(['partial', 'partial', 'final', 'superseded'] as const);
          partial.set(id, `${text} more`);
          if (status !== 'partial') partial.delete(id);
          entries.push(said(id, `${text} more`, { status }));
        } else {
          const id = `1.${++n}`;
          partial.set(id, `text ${n}`);
          entries.push(said(id, `text ${n}`, { status: 'partial', ...(Math.random() < 0.1 ? { kind: 'thought' as const } : {}) }));
        }
      }
      await log.append(write(s, entries, Math.random() < 0.2 ? { activity: pick(['idle', 'in-turn'] as const) } : {}));
      if (Math.random() < 0.15) {
        openQuestions.push(`q${++asked}`);
        await ask(s.pk, `q${asked}`);
      } else if (openQuestions.length > 0 && Math.random() < 0.3) await settle(s.pk, openQuestions.shift()!);
      if (Math.random() < 0.3) await sleep(Math.random() * 8);
    }
  }

  it.each(['conversation', 'structured'])(
    'tells %s clients that are cut and resume anywhere all of it, as it is in the end',
    async (format) => {
      const s = await session();
      await live(s, 5);
      const stop = { writing: true };
      const writing = live(s, 60).finally(() => (stop.writing = false));
      const readers = Array.from({ length: 4 }, async (_, i) => {
        const known = nothing();
        if (i % 2 === 0) known.id = '0'; // from the beginning, without a snapshot; activity is idle there
        known.activity = i % 2 === 0 ? 'idle' : undefined;
        while (stop.writing || Number(known.id ?? -1) < (await headOf(s.pk))) {
          const headers: Record<string, string> = known.id === undefined ? {} : { 'last-event-id': known.id };
          const stream = await openStream(`${pick([a, b]).url}/s/${s.pk}?format=${format}`, { headers });
          expect(stream.response.status).toBe(200);
          await sleep(10 + Math.random() * 80);
          await stream.close();
          let last = Number(known.id ?? 0);
          for (const frame of stream.frames) {
            fold(known, frame);
            if (frame.id === undefined) continue;
            expect(Number(frame.id)).toBeGreaterThanOrEqual(last);
            last = Number(frame.id);
          }
        }
        return known;
      });
      await writing;
      const expected = shown(await truth(s.pk));
      for (const known of await Promise.all(readers)) expect(shown(known)).toEqual(expected);
    },
  );

  it('goes on at every position that a client was at, on the other replica', async () => {
    const s = await session();
    const stream = await open(a, `/s/${s.pk}`);
    await live(s, 40);
    const head = await headOf(s.pk);
    await stream.until((f) => Number(f.id) >= head);
    const at: Known[] = [];
    const known = nothing();
    for (const frame of stream.frames) {
      fold(known, frame);
      at.push(copy(known));
    }
    const expected = shown(await truth(s.pk));
    expect(shown(known)).toEqual(expected);
    for (const before of at) {
      const resumed = await openStream(`${b.url}/s/${s.pk}`, {
        headers: before.id === undefined ? {} : { 'last-event-id': before.id },
      });
      await resumed.until((f) => Number(f.id) >= head);
      for (const frame of resumed.frames) fold(before, frame);
      await resumed.close();
      expect(shown(before)).toEqual(expected);
    }
  });

  it('sends nothing again to a client that has everything', async () => {
    const s = await session();
    await a.log.append(write(s, [said('1.1', 'one'), said('1.2', 'two')], { activity: 'in-turn' }));
    await open(b, `/s/${s.pk}`);
    const stream = await open(b, `/s/${s.pk}`, { 'last-event-id': '3' });
    await stream.until((f) => f.event === 'heartbeat');
    await a.log.append(write(s, [said('1.3', 'three')]));
    await stream.until((f) => f.event === 'turn');
    expect(stream.frames.filter((f) => f.event !== 'heartbeat').map((f) => [f.id, f.data.turns[0].text])).toEqual([['4', 'three']]);
  });

  it('says that a client has caught up only once it has', async () => {
    const s = await session();
    for (let i = 0; i < 12; i++)
      await a.log.append(
        write(
          s,
          Array.from({ length: 100 }, (_, k) => said(`1.${i}.${k}`, 'text')),
        ),
      );
    const stream = await open(b, `/s/${s.pk}?after_cursor=0`);
    const { id } = await stream.until((f) => f.event === 'heartbeat');
    expect(id).toBe('1200');
    const before = stream.frames.slice(
      0,
      stream.frames.findIndex((f) => f.event === 'heartbeat'),
    );
    expect(before.flatMap((f) => f.data.turns as unknown[])).toHaveLength(1_200);
  });

  it('begins with the last segment, the activity and the open questions', async () => {
    const s = await session();
    const mark = (id: string): EntryWrite => said(id, 'compacted', { kind: 'compaction', role: 'system' });
    await a.log.append(
      write(s, [said('1.1', 'old'), mark('1.2'), said('1.3', 'older'), mark('1.4'), said('1.5', 'new')], { activity: 'in-turn' }),
    );
    await ask(s.pk, 'q');
    const stream = await open(b, `/s/${s.pk}?format=structured`);
    const [first, activity, pending] = (await stream.untilAll((f) => f.length >= 3)).slice(0, 3);
    expect(first).toMatchObject({ event: 'structured', data: { operation: 'snapshot', schema_version: 'session.structured.v1' } });
    expect(first!.data.structured_messages.map((m: { id: string }) => m.id)).toEqual(['1.4', '1.5']);
    expect(first!.data.pagination).toMatchObject({ has_older_messages: true, truncated_before_message: '1.4' });
    expect(first!.data.history).toMatchObject({
      cursor: { resume_token: '7', after_entry_id: '1.5' },
      tail_state: { activity: 'in_turn', pending_interaction_ids: ['q'] },
      continuity: { status: 'compacted', compaction_count: 2 },
    });
    expect(activity).toMatchObject({ event: 'activity', data: { activity: 'in-turn' } });
    expect(pending).toMatchObject({ event: 'pending', data: { request_id: 'q', options: ['Yes'] } });
    // Whoever is cut in between has no position yet, and begins again: the question would never come otherwise.
    expect([first!.id, activity!.id, pending!.id]).toEqual([undefined, undefined, '7']);
  });

  // Guard: a structured stream says where an entry stands.
  it('says of each entry where it stands, in the order of changes', async () => {
    const s = await session();
    const call = (id: string, status: 'partial' | 'final'): EntryWrite => said(id, status, { status });
    for (const entries of [
      [said('1.0', 'hello')],
      [call('1.A', 'partial')],
      [call('1.B', 'partial')],
      [call('1.B', 'final')],
      [call('1.A', 'final')],
    ])
      await a.log.append(write(s, entries));
    const placesOf = async (path: string): Promise<unknown> => {
      const { data } = await (await open(b, `/s/${s.pk}?format=structured${path}`)).until((f) => f.event === 'structured');
      return data.structured_messages.map(({ id, place }: { id: string; place: number }) => [id, place]);
    };
    expect(await placesOf('&after_cursor=1')).toEqual([['1.B', 3], ['1.A', 2]]); // prettier-ignore
    expect(await placesOf('')).toEqual([['1.0', 1], ['1.A', 2], ['1.B', 3]]); // prettier-ignore
  });

  it('has the frames of raw entries, and says which entry each belongs to', async () => {
    const s = await session();
    await a.log.append(write(s, [said('1.1', 'hello'), said('1.2', 'x', { kind: 'tool', role: 'tool', raw: [{ f: 1 }, { f: 2 }] })]));
    const stream = await open(b, `/s/${s.pk}?format=raw`);
    const { data } = await stream.until((f) => f.event === 'message');
    expect(data.messages).toEqual([{ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'hello' } }, { f: 1 }, { f: 2 }]);
    expect(data.entries).toEqual([{ id: '1.1', status: 'final', frames: 1 }, { id: '1.2', status: 'final', frames: 2 }]); // prettier-ignore
    await a.log.append(write(s, [said('1.3', 'y', { raw: [{ f: 3 }] })]));
    await stream.until((f) => f.data.messages?.[0]?.f === 3);
  });

  it('refuses positions that are none; a structured stream starts over instead', async () => {
    const s = await session();
    await a.log.append(write(s, [said('1.1', 'one')]));
    for (const id of ['2', 'x', '-1', '1.5']) {
      const status = id === '2' ? 410 : 400;
      expect((await open(a, `/s/${s.pk}`, { 'last-event-id': id })).response.status).toBe(status);
      expect((await open(a, `/s/${s.pk}?after_cursor=${id}&format=raw`)).response.status).toBe(status);
    }
    const ahead = await open(a, `/s/${s.pk}?format=structured&after_cursor=2`);
    expect((await ahead.until((f) => f.event === 'structured')).data).toMatchObject({
      operation: 'reset',
      reset_reason: 'cursor_invalidated',
    });
    const wrong = await open(a, `/s/${s.pk}?format=structured`, { 'last-event-id': 'st1.x' });
    expect((await wrong.until((f) => f.event === 'structured')).data).toMatchObject({ operation: 'reset', reset_reason: 'resume_invalid' });
    const wins = await open(a, `/s/${s.pk}?after_cursor=99`, { 'last-event-id': '1' });
    expect(wins.response.status).toBe(200);
  });

  // Guards: a position of a session that was lost is refused; its streams end when an epoch begins.
  it('refuses a position of what was lost between two epochs, and gives none twice', async () => {
    const s = await session();
    for (const id of ['1.1', '1.2', '1.3']) await a.log.append(write(s, [said(id, id)]));
    const stream = await open(a, `/s/${s.pk}`);
    await stream.until((f) => f.id === '3');
    // A standby took over that had not got the last entry.
    await sql`delete from session_entries where session_pk = ${s.pk} and rev = 3`.execute(fixture.db);
    await sql`update session_logs set head = 2 where session_pk = ${s.pk}`.execute(fixture.db);
    await sql`select begin_log_epoch()`.execute(fixture.db);
    await stream.untilEnd();
    const lost = await fetch(`${b.url}/s/${s.pk}`, { headers: { 'last-event-id': '3' } });
    expect([lost.status, await lost.text()]).toEqual([410, expect.stringContaining('go on from 2\n')]);
    const reset = await open(b, `/s/${s.pk}?format=structured`, { 'last-event-id': '3' });
    expect((await reset.until((f) => f.event === 'structured')).data).toMatchObject({ reset_reason: 'cursor_invalidated' });
    const on = await open(b, `/s/${s.pk}`, { 'last-event-id': '2' });
    await a.log.append(write(s, [said('1.4', 'another')]));
    expect(Number((await on.until((f) => f.event !== 'heartbeat')).id)).toBe(2 + SESSION_STEP + 1);
  });

  const close = async (s: TestSession): Promise<void> => {
    await sql`update sessions set state = 'closed', closed_at = now(), live = false, runner_id = null where pk = ${s.pk}`.execute(
      fixture.db,
    );
    await sql`update session_logs set head = head + 1, status_rev = head + 1, activity = 'idle' where session_pk = ${s.pk}`.execute(
      fixture.db,
    );
    a.signals.markNow(`s${s.pk}`);
  };

  it('ends with the session, for who follows it, comes later, or resumes', async () => {
    const s = await session();
    await a.log.append(write(s, [said('1.1', 'one')]));
    const [following, other] = [await open(a, `/s/${s.pk}`), await open(b, `/s/${s.pk}?format=structured`)];
    await other.until((f) => f.event === 'structured');
    await a.log.append(write(s, [said('1.2', 'two')]));
    await close(s);
    await Promise.all([following.untilEnd(), other.untilEnd()]);
    expect(following.frames.filter((f) => f.event !== 'heartbeat').at(-1)).toMatchObject({ event: 'activity', data: { activity: 'idle' } });
    expect(following.frames.flatMap((f) => f.data.turns?.map((t: { text: string }) => t.text) ?? [])).toEqual(['one', 'two']);
    const late = await open(b, `/s/${s.pk}`);
    await late.untilEnd();
    expect(late.response.headers.get('svc-session-state')).toBe('closed');
    expect(late.response.headers.get('svc-session-status')).toBe('stopped');
    expect(late.frames.map((f) => f.event)).toEqual(['turn', 'activity', 'heartbeat']);
    const resumed = await open(b, `/s/${s.pk}`, { 'last-event-id': '1' });
    await resumed.untilEnd();
    expect(resumed.frames.flatMap((f) => f.data.turns?.map((t: { text: string }) => t.text) ?? [])).toEqual(['two']);
  });

  // Guard: a feed that has ended and is replaced is fed no more.
  it('feeds only the new one where a feed has ended and another begins before anybody has looked', async () => {
    const s = await session();
    await a.log.append(write(s, [said('1.1', 'one')]));
    const view: View = { format: 'conversation', thinking: false, id: plainId };
    for (const others of [false, true]) {
      if (others) await (await open(a, `/s/${s.pk}?format=structured`)).until((f) => f.event === 'structured');
      const head = await headOf(s.pk);
      const ended = a.hub.feed(s.pk, view, head);
      await a.hub.caughtUp(s.pk, ended, head);
      ended.gone();
      const next = a.hub.feed(s.pk, view, head);
      expect(next).not.toBe(ended);
      expect(a.hub.feed(s.pk, view, head)).toBe(next);
      await b.log.append(write(s, [said(`1.${head + 1}`, 'more')]));
      await eventually(() => next.position === head + 1);
      expect([next.position, ended.position]).toEqual([head + 1, head]);
      next.gone();
    }
  });

  it('has nothing to show of a session that never said anything and has no process', async () => {
    const s = await session({ live: false });
    expect((await open(a, `/s/${s.pk}`)).response.status).toBe(404);
    const structured = await open(a, `/s/${s.pk}?format=structured`);
    expect(structured.response.headers.get('svc-session-status')).toBe('stopped');
    await structured.until((f) => f.event === 'structured');
  });

  it('parks a reader that does not read, and gives it everything once it does', async () => {
    SlowClient.tolerate();
    const s = await session();
    const slow = await SlowClient.open(`${a.url}/s/${s.pk}?after_cursor=0`);
    const big = 'x'.repeat(15_000);
    const fast = await open(a, `/s/${s.pk}?after_cursor=0`);
    for (let i = 0; i < 40; i++)
      await b.log.append(
        write(
          s,
          Array.from({ length: 30 }, (_, k) => said(`1.${i}.${k}`, `${i}.${k} ${big}`)),
        ),
      );
    await fast.untilAll((frames) => frames.flatMap((f) => f.data.turns ?? []).length === 1_200);
    slow.resume();
    const ids = await eventually(() => {
      const { ids: found } = slow.read();
      return found.at(-1) === 1_200 ? found : undefined;
    });
    expect([...ids].sort((x, y) => x - y)).toEqual(ids);
    expect(new Set(slow.turnIds()).size).toBe(1_200);
    slow.close();
  });

  it('ends the streams of a key that is no longer good', async () => {
    const s = await session();
    const stream = await open(a, `/s/${s.pk}`, { 'x-key': 'k1' });
    await stream.until((f) => f.event === 'heartbeat');
    a.keys.revoked.add('k1');
    await stream.untilEnd();
  });

  it('follows an agent from session to session, on any replica', async () => {
    const first = await session({ agent: 'pol' });
    await a.log.append(write(first, [said('1.1', 'one')]));
    const stream = await open(a, '/a/pol');
    await stream.until((f) => f.event === 'turn');
    expect(stream.response.headers.get('svc-agent-status')).toBeNull();
    await b.log.append(write(first, [said('1.2', 'two')]));
    const two = await stream.until((f) => f.data.turns?.[0]?.text === 'two');
    await sql`update sessions set live = false, runner_id = null, state = 'asleep' where pk = ${first.pk}`.execute(fixture.db);
    const second = await session({ agent: 'pol' });
    await b.log.append(write(second, [said('1.1', 'three')]));
    const three = await stream.until((f) => f.data.turns?.[0]?.text === 'three');
    expect(BigInt(three.id!)).toBeGreaterThan(BigInt(two.id!));
    const resumed = await open(b, '/a/pol', { 'last-event-id': two.id! });
    await resumed.until((f) => f.data.turns?.[0]?.text === 'three');
    expect(resumed.frames.filter((f) => f.event === 'turn').map((f) => f.data.turns.map((t: { text: string }) => t.text))).toEqual([
      ['three'],
    ]);
    expect((await open(b, '/a/pol', { 'last-event-id': '17' })).response.status).toBe(400);
    expect((await open(b, '/a/nobody')).response.status).toBe(404);
  });

  describe('of an agent that has several sessions', () => {
    const texts = ({ frames }: OpenStream): string[] =>
      frames.filter((f) => f.event === 'turn').flatMap((f) => f.data.turns.map(({ text }: { text: string }) => text));
    const says = (text: string) => (f: Frame) => f.data.turns?.some((turn: { text: string }) => turn.text === text);
    const alive = (pk: number, live: boolean) =>
      sql`update sessions set live = ${live}, state = ${live ? 'active' : 'asleep'} where pk = ${pk}`.execute(fixture.db);

    // Guard: a stream of an agent that is opened before its replica has heard of the next session says nothing twice.
    it('tells nothing twice, also where the replica has not heard of the next one yet', async () => {
      const first = await session({ agent: 'kim' });
      await a.log.append(write(first, [said('1.1', 'one')]));
      const early = await open(a, '/a/kim');
      await early.until(says('one'));
      await alive(first.pk, false);
      const second = await session({ agent: 'kim' });
      await b.log.append(write(second, [said('1.1', 'two')]));
      const late = await open(a, '/a/kim');
      await late.until(says('two'));
      await b.log.append(write(second, [said('1.2', 'three')]));
      await Promise.all([early.until(says('three')), late.until(says('three'))]);
      expect([texts(early), texts(late)]).toEqual([
        ['one', 'two', 'three'],
        ['two', 'three'],
      ]);
    });

    // Guard: of two sessions of an agent that have processes all its streams follow the newer one.
    it('follows the newest with a process, and an older one again that alone has one', async () => {
      const first = await session({ agent: 'lou' });
      await a.log.append(write(first, [said('1.1', 'one')]));
      const stream = await open(a, '/a/lou');
      await stream.until(says('one'));
      const second = await session({ agent: 'lou' });
      await b.log.append(write(second, [said('1.1', 'two')]));
      const two = await stream.until(says('two'));
      await b.log.append(write(first, [said('1.2', 'beside')]));
      expect(texts(await open(b, '/a/lou').then(async (s) => (await s.until(says('two')), s)))).toEqual(['two']);
      await alive(second.pk, false);
      await stream.untilEnd(10_000);
      const resumed = await open(a, '/a/lou', { 'last-event-id': two.id! });
      await b.log.append(write(first, [said('1.3', 'again')]));
      await resumed.until(says('again'));
      expect([texts(stream), texts(resumed)]).toEqual([
        ['one', 'two'],
        ['one', 'beside', 'again'],
      ]);
    });
  });
});

describe('a replica that stops', () => {
  it('ends its streams with the position that they are at', async () => {
    const fixture = await workFixture();
    const url = (fixture.pool as unknown as { options: { connectionString: string } }).options.connectionString;
    const replica = await SessionReplica.start(url, fixture.city);
    const s = await insertSession(fixture.db, fixture.city.streamId);
    await replica.log.append(write(s, [said('1.1', 'one')]));
    const stream = await openStream(`${replica.url}/s/${s.pk}`);
    await stream.until((f) => f.event === 'heartbeat');
    await replica.lifecycle.stop();
    await stream.untilEnd();
    expect(stream.frames.at(-1)).toMatchObject({ event: 'heartbeat', id: '1' });
    await stream.close();
    await replica.stop();
    await fixture.close();
  });
});
