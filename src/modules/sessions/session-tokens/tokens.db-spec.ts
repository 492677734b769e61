import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { credentialOf, type Principal } from '../../../contract/principal.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { putSession } from '../../../../test/support/session-examples.js';
import { CommandAuthenticator } from './command-authenticator.service.js';
import { CommandCallersRepository } from './command-callers.repository.js';
import { newCommandToken } from './command-token.js';
import { SessionAuthenticator } from './session-authenticator.service.js';
import { SessionCallersRepository } from './session-callers.repository.js';
import { newSessionToken } from './session-token.js';
import { TablePolicy } from './table-policy.js';

interface Known {
  authenticate(token: string): Promise<Principal | undefined>;
  stillValid(credential: string): Promise<boolean>;
}

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url));
  await registerCity(db, 'alpha', '/alpha');
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

/** Whether a token is good, and then whether each that was opened before still is. */
async function seen(known: Known, token: string, opened: readonly string[]): Promise<boolean[]> {
  const good = (await known.authenticate(token)) !== undefined;
  return [good, ...(await Promise.all(opened.map((credential) => known.stillValid(credential))))];
}

async function open(known: Known, token: string): Promise<string> {
  return credentialOf((await known.authenticate(token))!)!;
}

describe('what is open with a token ends', () => {
  it('once its session has another process', async () => {
    const known = new SessionAuthenticator(new SessionCallersRepository(db));
    const { pk, token } = await putSession(database.url, 'alpha', { id: 'al-90' });
    const first = await open(known, token);
    expect(await seen(known, token, [first])).toEqual([true, true]);
    const next = newSessionToken(pk);
    await sql`update sessions set token_hash = ${next.hash}, generation = generation + 1 where pk = ${pk}`.execute(db);
    const second = await open(known, next.token);
    expect(await seen(known, token, [first, second])).toEqual([false, false, true]);
    await sql`update sessions set runner_id = null, live = false, state = 'asleep' where pk = ${pk}`.execute(db);
    expect(await seen(known, next.token, [first, second])).toEqual([false, false, false]);
  });

  it('once its command is carried out by another worker, or by none', async () => {
    const known = new CommandAuthenticator(new CommandCallersRepository(db));
    const { rows } = await sql<{ pk: number }>`
      insert into order_firings (id, stream_id, scoped_name, name, rig, definition, cause, actor, state, created_at, worker, lease_until)
      select 'f-1', e.id, 'sweep', 'sweep', '', '{}', 'manual', 'test', 'running', now(), 'one', now() + interval '1 hour'
      from event_streams e where e.name = 'alpha' returning pk`.execute(db);
    const { pk } = rows[0]!;
    const carryOut = async (worker: string): Promise<string> => {
      const { token, hash } = newCommandToken({ kind: 'firing', pk });
      await sql`update order_firings set worker = ${worker}, token_hash = ${hash} where pk = ${pk}`.execute(db);
      return token;
    };
    const token = await carryOut('one');
    expect(await known.authenticate(token)).toMatchObject({ actor: 'order:sweep', command: true });
    const first = await open(known, token);
    expect(await seen(known, token, [first])).toEqual([true, true]);
    const next = await carryOut('two');
    const second = await open(known, next);
    expect(await seen(known, token, [first, second])).toEqual([false, false, true]);
    await sql`update order_firings set lease_until = now() where pk = ${pk}`.execute(db);
    expect(await seen(known, next, [first, second])).toEqual([false, false, false]);
  });
});

const refused = async (token: string, operation: string, id: string, body?: unknown): Promise<string | undefined> => {
  const repository = new SessionCallersRepository(db);
  const caller = await new SessionAuthenticator(repository).authenticate(token);
  return new TablePolicy(repository).refusal(caller!, operation, { params: { id }, body } as never);
};

describe('a session that speaks to another one', () => {
  // Guard: an agent could end every turn of every other one.
  it('waits for the end of its turn', async () => {
    const mine = await putSession(database.url, 'alpha', { id: 'al-81' });
    const other = await putSession(database.url, 'alpha', { id: 'al-82' });
    const submit = (id: string, intent?: string) => refused(mine.token, 'submit-session', id, { message: 'x', intent });
    expect(await submit(other.id, 'interrupt_now')).toMatch(/^sessions end no turns of others, and their own as session\/al-81:/);
    for (const intent of ['default', 'follow_up', undefined]) expect(await submit(other.id, intent)).toBeUndefined();
    expect(await submit(mine.id, 'interrupt_now')).toBeUndefined();
  });
});

describe('a session that has another alias by now', () => {
  const realias = (pk: number, alias: string): Promise<unknown> =>
    sql`update sessions set past_aliases = array_append(past_aliases, alias), alias = ${alias} where pk = ${pk}`.execute(db);
  const bead = (id: string, columns: { issue_type?: string; labels?: string[]; metadata: Record<string, string> }): Promise<unknown> =>
    sql`insert into beads (stream_id, id, title, issue_type, labels, metadata)
      select id, ${id}, 'x', ${columns.issue_type ?? 'task'}, ${columns.labels ?? []}::text[], ${JSON.stringify(columns.metadata)}::jsonb
      from event_streams where name = 'alpha'`.execute(db);

  // Guard: a wait is of the session that it was asked for, not of whoever has that one's name.
  it('ends its own waits, and whoever has its old one does not', async () => {
    const mine = await putSession(database.url, 'alpha', { id: 'al-91', alias: 'day' });
    const wait = (id: string, registered: string) =>
      bead(id, { issue_type: 'gate', labels: ['gc:wait'], metadata: { session_id: 'day', registered_session: registered } });
    await wait('al-92', 'al-91');
    await wait('al-93', '');
    await realias(mine.pk, 'night');
    const other = await putSession(database.url, 'alpha', { id: 'al-94', alias: 'day' });
    expect(await refused(mine.token, 'cancel-wait', 'al-92')).toBeUndefined();
    expect(await refused(other.token, 'cancel-wait', 'al-92')).toBe('wait al-92 belongs to al-91');
    expect(await refused(mine.token, 'cancel-wait', 'al-93')).toBe('wait al-93 belongs to day');
    expect(await refused(other.token, 'cancel-wait', 'al-93')).toBeUndefined();
  });

  // Guard: nobody gives back what another session has begun.
  it.each(['extend-bead-claim', 'release-bead'])('keeps its claims by the old one, under their fence (%s)', async (operation) => {
    const [own, of, others] = operation === 'release-bead' ? ['al-95', 'al-96', 'al-97'] : ['al-98', 'al-99', 'al-100'];
    const mine = await putSession(database.url, 'alpha', { id: own, alias: `day-${own}` });
    await bead(of, { metadata: { 'gc.session_id': own } });
    await bead(others, { metadata: { 'gc.session_id': 'al-1' } });
    await realias(mine.pk, `night-${own}`);
    const asked = (id: string, assignee: string, fence?: number) => refused(mine.token, operation, id, { assignee, fence });
    const never = 'assignee has to be mayor: sessions act as themselves';
    expect(await asked(of, `day-${own}`, 1)).toBeUndefined();
    expect(await asked(of, `night-${own}`)).toBeUndefined();
    expect(await asked(of, `day-${own}`)).toBe(never);
    expect(await asked(of, 'dusk', 1)).toBe(never);
    expect(await asked(others, `day-${own}`, 1)).toBe(never);
  });
});
