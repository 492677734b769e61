import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { ClaimsRepository } from '../../work/hooks/claims.repository.js';
import { ClaimsService } from '../../work/hooks/claims.service.js';
import { WorkRepository } from '../../work/work/work.repository.js';
import { WorkService } from '../../work/work/work.service.js';
import { MAYOR, sessionFixture, type SessionFixture } from '../messages/testing/session-fixture.js';
import { ClaimsOfSessionsRepository } from '../session-store/claims-of-sessions.repository.js';
import { BEADS_AT_ONCE, ClaimsOfSessions } from '../session-store/claims-of-sessions.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { SessionEdits } from './session-edits.service.js';

let fixture: SessionFixture;
let session: SessionRow;
beforeEach(async () => {
  fixture = await sessionFixture();
  session = await fixture.a.sessions.run(fixture.city, 'maker', (changes) => changes.create({ ...MAYOR, alias: 'day' }));
});
afterEach(() => fixture.stop());

function call(alias: string): Promise<unknown> {
  const [resolver, answers] = [{ resolve: async () => session }, { of: async () => ({ body: {} }) }];
  const [named, roster] = [{ requireNotConfigured: async () => undefined }, { rigs: async () => [] }];
  const claims = new ClaimsOfSessions(new ClaimsOfSessionsRepository(fixture.db));
  const none = {} as never;
  const at = fixture.a.sessions;
  return new SessionEdits(
    ...([resolver, at, answers, named, roster] as unknown as [never, typeof at, never, never, never]),
    ...([none, none, none] as const),
    claims,
  ).patch(fixture.city, session.id, { alias }, ANYBODY);
}

/** A bead that is assigned to this name; with stamps it is begun under a lease by whoever they name. */
async function bead(assignee: string, stamps?: Record<string, string>): Promise<string> {
  const { value } = await fixture.a.sessions.withWork(fixture.city, 'tester', async (_, work) => {
    const { id } = await work.create({ rig: '', title: 'work', ...(stamps === undefined ? { assignee } : {}) });
    if (stamps !== undefined) await work.update(id, { assignee, status: 'in_progress', metadata: stamps, lease: { ms: 60_000 } });
    return id;
  });
  return value;
}
const begunBy = (holder: string): Promise<string> => bead('day', { 'gc.session_id': holder });

const of = async (id: string) =>
  (
    await sql<{ assignee: string; status: string; metadata: object; claim_fence: number; attempts: number; lease_until: Date | null }>`
      select assignee, status, metadata, claim_fence, attempts, lease_until from beads where id = ${id}`.execute(fixture.db)
  ).rows[0]!;

describe('another alias of a session', () => {
  // Guard: what is assigned to it by the old one is on nobody's hook otherwise.
  it('takes what is assigned to it along, by its new alias or by its id', async () => {
    const [open, begun, others] = [await bead('day'), await begunBy(session.id), await begunBy('al-900')];
    const closed = await bead('day');
    await fixture.a.sessions.withWork(fixture.city, 'tester', (_, work) => work.close(closed));
    const at = (await fixture.events()).at(-1)!.seq;
    await call('night');
    expect(await of(open)).toMatchObject({ assignee: 'night', status: 'open' });
    expect(await of(begun)).toMatchObject({ assignee: 'night', status: 'in_progress' });
    expect([await of(others), await of(closed)]).toMatchObject([{ assignee: 'day' }, { assignee: 'day' }]);
    const told = (await fixture.events(at)).map(({ type, subject }) => [type, subject]);
    expect(told).toEqual(
      expect.arrayContaining([
        ['bead.updated', open],
        ['bead.updated', begun],
        ['session.updated', session.id],
      ]),
    );
    expect(told).toHaveLength(3);
    await call('');
    expect(await of(open)).toMatchObject({ assignee: session.id });
  });

  // Guard: whoever works on it extends and closes it by the fence that it was given.
  it('leaves what is begun under its claim, and whose it is', async () => {
    const begun = await begunBy(session.id);
    const before = await of(begun);
    expect(before).toMatchObject({ attempts: 1, lease_until: expect.any(Date) });
    await call('night');
    expect(await of(begun)).toEqual({ ...before, assignee: 'night' });
  });

  it.each<[string, boolean, (session: SessionRow) => Record<string, string>]>([
    ['by its name', true, ({ session_name }) => ({ 'gc.session_name': session_name })],
    ['by its alias', true, () => ({ 'gc.session_name': 'day' })],
    ['by nobody who says so', false, () => ({})],
    ['by another one of its name', false, () => ({ 'gc.session_id': 'al-900', 'gc.session_name': 'day' })],
  ])('takes along what was begun %s: %s', async (_, takes, stamps) => {
    const begun = await bead('day', stamps(session));
    await call('night');
    expect(await of(begun)).toMatchObject({ assignee: takes ? 'night' : 'day', attempts: 1 });
  });

  it('takes along what was begun by an alias of before', async () => {
    const begun = await bead('day', { 'gc.session_name': 'day' });
    for (const alias of ['night', 'dusk']) await call(alias);
    expect(await of(begun)).toMatchObject({ assignee: 'dusk' });
  });

  it('takes all of it, however much that is', async () => {
    await sql`insert into beads (stream_id, id, title, assignee) select ${fixture.city.streamId}, 'al-x' || g, 'work', 'day'
      from generate_series(1, ${BEADS_AT_ONCE + 1}::int) g`.execute(fixture.db);
    await call('night');
    expect((await sql`select id from beads where assignee <> 'night'`.execute(fixture.db)).rows).toEqual([]);
  });

  it('leaves to an agent what is assigned to that', async () => {
    const id = await bead('day');
    await sql`insert into agents (stream_id, name, base, rig, kind) values (${fixture.city.streamId}, 'day', 'day', '', 'agent')`.execute(
      fixture.db,
    );
    await call('night');
    expect(await of(id)).toMatchObject({ assignee: 'day' });
  });
});

// Guard: its process was told one alias, when it was started.
describe('a claim by an alias that its session had before', () => {
  let claims: ClaimsService;
  let id: string;
  let fence: number;
  beforeEach(async () => {
    const { db, pools } = fixture;
    const work = new WorkService(new Transactions(db, new Failpoints()), new EventLog(new MovedStreams()), new WorkRepository());
    claims = new ClaimsService({} as never, new ClaimsRepository(pools[0]!), work, db);
    id = await begunBy(session.id);
    fence = (await of(id)).claim_fence;
    await call('night');
  });
  const extend = (assignee: string, under = fence) => claims.heartbeat(fixture.city, id, { assignee, fence: under });
  const release = (assignee: string, under?: number) =>
    claims.release(fixture.city, id, { assignee, ...(under === undefined ? {} : { fence: under }) }, ANYBODY);

  it('is extended and given back under its fence', async () => {
    await sql`update beads set lease_until = now()`.execute(fixture.db);
    const { lease_until } = await extend('day');
    expect((await of(id)).lease_until).toEqual(new Date(lease_until));
    await release('day', fence);
    expect(await of(id)).toMatchObject({ status: 'open', assignee: null });
  });

  it('is not under another one, nor without one', async () => {
    await expect(extend('day', fence + 1)).rejects.toThrow(`has been claimed anew by night; its fence is ${fence}`);
    await expect(release('day', fence + 1)).rejects.toThrow(`has been claimed anew by night; its fence is ${fence}`);
    await expect(release('day')).rejects.toThrow('is owned by night');
    await expect(extend('dusk')).rejects.toThrow('is owned by night');
  });

  it('is not once another session or an agent has the alias', async () => {
    await fixture.a.sessions.run(fixture.city, 'maker', (changes) => changes.create({ ...MAYOR, alias: 'day' }));
    await expect(extend('day')).rejects.toThrow('is owned by night');
    await expect(release('day', fence)).rejects.toThrow('is owned by night');
    await call('dusk');
    await extend('night');
    await sql`insert into agents (stream_id, name, base, rig, kind) values (${fixture.city.streamId}, 'night', 'night', '', 'agent')`.execute(
      fixture.db,
    );
    await expect(extend('night')).rejects.toThrow('is owned by dusk');
  });

  it('is not once the bead is another one’s', async () => {
    await sql`update beads set assignee = 'dusk' where id = ${id}`.execute(fixture.db);
    await expect(extend('day')).rejects.toThrow('is owned by dusk');
  });
});

describe('the alias that a session has', () => {
  it('is given to it while others write in its city', async () => {
    await fixture.a.sessions.withWork(fixture.city, 'tester', () => call('day'));
    expect(await fixture.row(session.pk)).toMatchObject({ alias: 'day' });
  });

  it('is another one where somebody has changed it meanwhile', async () => {
    await call('night');
    const id = await bead('night');
    await call('day');
    expect(await fixture.row(session.pk)).toMatchObject({ alias: 'day' });
    expect(await of(id)).toMatchObject({ assignee: 'day' });
  });
});
