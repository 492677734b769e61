import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { ANYBODY } from '../../../contract/principal.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { MAYOR, sessionFixture, type SessionFixture, type SessionProcess } from '../messages/testing/session-fixture.js';
import type { NewSession, SessionRow } from '../session-store/session-row.js';
import { SessionEdits } from '../sessions/session-edits.service.js';
import { NamedSessions } from './named-sessions.service.js';
import { SessionNamesRepository } from './session-names.repository.js';

let fixture: SessionFixture;
beforeEach(async () => {
  fixture = await sessionFixture();
});
afterEach(() => fixture.stop());

const waits = async (): Promise<boolean> => {
  const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return (await waiting.execute(fixture.db)).rows.length > 0;
};
const freeNames = async (): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`select name from session_names order by name for update skip locked`.execute(fixture.db);
  return rows.map(({ name }) => name);
};

describe('two sessions that are to be called as each other is', () => {
  /** Each is where it has given up its old name before either takes the other's, unless one waits for the other there. */
  const patching = (at: SessionProcess, arrived: () => Promise<void>): SessionEdits => {
    const resolver = { resolve: async (_city: unknown, text: string) => fixture.row(Number(text)) };
    const [answers, roster] = [{ of: async () => ({ body: {} }) }, { rigs: async () => [] }];
    const none = {} as never;
    const claims = { rename: async () => 0 } as never;
    const named = { requireNotConfigured: arrived };
    return new SessionEdits(resolver as never, at.sessions, answers as never, named as never, roster as never, none, none, none, claims);
  };

  // Guard: the names of the city's sessions are one's own before the first is given up.
  it('are refused both, and neither waits for the other for ever', async () => {
    const [one, two] = [await fixture.session('asleep'), await fixture.session('asleep')];
    let arrived = 0;
    const both = async (): Promise<void> => {
      arrived++;
      await eventually(async () => arrived >= 2 || (await waits()));
    };
    const edits = [patching(fixture.a, both), patching(fixture.b, both)];
    const call = (n: number, row: SessionRow, alias: string): Promise<unknown> =>
      edits[n]!.patch(fixture.city, String(row.pk), { alias }, ANYBODY).catch(
        (error: unknown) => (error as { problem?: string }).problem ?? error,
      );
    arrived = 1;
    await call(0, one, 'left');
    await call(1, two, 'right');
    arrived = 0;
    expect(await Promise.all([call(0, one, 'right'), call(1, two, 'left')])).toEqual(['conflict', 'conflict']);
    expect((await fixture.row(one.pk)).alias).toBe('left');
  });
});

describe('a session in whose place another is made', () => {
  const config = {
    workspace: {},
    agents: [{ name: 'mayor', qualified_name: 'mayor', dir: '', provider: 'loopback', origin: 'inline' }],
    named_sessions: [{ name: 'deacon', qualified_name: 'deacon', template: 'mayor', dir: '' }],
    rigs: [],
    providers: {},
    resolved_providers: {},
  } as unknown as CityConfig;
  const materialize = (at: SessionProcess): Promise<SessionRow> => {
    const named = new NamedSessions(at.sessions, new SessionNamesRepository(fixture.db));
    return at.sessions.run(fixture.city, 'tester', (changes) => named.materialize(changes, config, 'deacon', {}));
  };

  // Guard: whoever ends a session has it before its names, and so has whoever takes them from it.
  it('is waited for before its names are taken', async () => {
    const before = await materialize(fixture.a);
    await fixture.set(before.pk, { state: 'archived', continuity_eligible: false });
    const { made } = await fixture.within(before.pk, async () => {
      let isOver = false;
      const made = materialize(fixture.b).finally(() => (isOver = true));
      await eventually(async () => isOver || (await waits()));
      expect({ isOver, free: await freeNames() }).toEqual({ isOver: false, free: expect.arrayContaining(['deacon']) });
      return { made };
    });
    const after = await made;
    expect(after.pk).not.toBe(before.pk);
    expect(await freeNames()).toContain('deacon');
  });

  it('is found without waiting while it goes on', async () => {
    const before = await materialize(fixture.a);
    await fixture.within(before.pk, async () => expect((await materialize(fixture.b)).pk).toBe(before.pk));
  });
});

describe('a session that is made', () => {
  const made = (more: Partial<NewSession>, at = fixture.a): Promise<SessionRow> =>
    at.sessions.run(fixture.city, 'maker', (changes) => changes.create({ ...MAYOR, ...more }));
  const namesOf = async (pk: number): Promise<string[]> => {
    const { rows } = await sql<{ name: string; kind: string }>`
      select name, kind from session_names where session_pk = ${pk} order by name collate "C"`.execute(fixture.db);
    return rows.map(({ name, kind }) => `${name}: ${kind}`);
  };

  it('has all of its names, each once, and a log', async () => {
    const all = await made({ session_name: 's1', alias: 'a1', agent_name: 'pool-1', slot: 1 });
    expect(await namesOf(all.pk)).toEqual(['a1: alias', 'pool-1: agent', 's1: session_name']);
    expect(all).toEqual(await fixture.row(all.pk));
    const same = await made({ session_name: 's2', alias: 's2', agent_name: 'not a member' });
    expect(await namesOf(same.pk)).toEqual(['s2: session_name']);
    const { rows } = await sql`select from session_logs where session_pk in (${all.pk}, ${same.pk})`.execute(fixture.db);
    expect(rows).toHaveLength(2);
  });

  it.each<[string, Partial<NewSession>]>([
    ['s1', { session_name: 's1' }],
    ['a1', { session_name: 'other', alias: 'a1' }],
    ['pool-1', { session_name: 'other', alias: 'b1', agent_name: 'pool-1', slot: 1 }],
  ])('is not made where %s is the name of another, nor is any of its names given away', async (name, more) => {
    await made({ session_name: 's1', alias: 'a1', agent_name: 'pool-1', slot: 1 });
    const before = await freeNames();
    await expect(made(more, fixture.b)).rejects.toThrow(`conflict: the name ${name} is already used by another session of this city`);
    expect(await freeNames()).toEqual(before);
  });

  it('takes the identity that it is made for, once nobody bears it, and no other', async () => {
    await sql`insert into session_names (stream_id, name, kind) values (${fixture.city.streamId}, 'deacon', 'identity')`.execute(
      fixture.db,
    );
    await expect(made({ alias: 'deacon' })).rejects.toThrow('the name deacon is already used');
    const named = { alias: 'deacon', named_identity: 'deacon' };
    const one = await made(named);
    expect(await namesOf(one.pk)).toContain('deacon: identity');
    await expect(made(named, fixture.b)).rejects.toThrow('the name deacon is already used');
  });

  it('is one of any number that want a name at once', async () => {
    const ends = await Promise.allSettled([0, 1, 2, 3, 4, 5].map((n) => made({ alias: 'wanted' }, n % 2 === 0 ? fixture.a : fixture.b)));
    const refused = ends.filter((end) => end.status === 'rejected').map(({ reason }) => String(reason));
    expect(refused).toEqual(Array(5).fill(expect.stringContaining('the name wanted is already used by another session')));
  });
});
