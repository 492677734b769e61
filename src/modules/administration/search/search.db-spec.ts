import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { putSession } from '../../../../test/support/session-examples.js';
import { ANYBODY } from '../../../contract/principal.js';
import { BeginningDialect } from '../../../platform/database/beginning.js';
import { createDb, createPool, Db } from '../../../platform/database/database.js';
import { SearchRepository } from './search.repository.js';
import { SearchQuery, type SearchOutputBody } from './search.schemas.js';
import { SearchService, type SearchLimits } from './search.service.js';
import { wantedOf } from './search-words.js';

const LIMITS = { ranked: 5_000, own: 20_000, first: 2_000, ms: 10_000 };

let database: TestDatabase;
let db: Db;
let service: SearchService;

const search = (q: string, more: object = {}, cities?: readonly string[], limits = LIMITS): Promise<SearchOutputBody> =>
  service.search(SearchQuery.parse({ q, ...more }), { ...ANYBODY, cities }, limits);
const found = async (q: string, more: object = {}, cities?: readonly string[]): Promise<string[]> =>
  (await search(q, more, cities)).items.map(({ kind, city, id }) => `${kind} ${city} ${id}`);

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 3 }));
  service = new SearchService(new SearchRepository(db));
  const { streamId: alpha } = await registerCity(db, 'alpha', '/alpha');
  const { streamId: beta } = await registerCity(db, 'beta', '/beta');
  const { streamId: stopped } = await registerCity(db, 'stopped', '/stopped');
  await sql`update cities set running = false, phase = 'stopped' where name = 'stopped'`.execute(db);
  for (const [stream, id, title] of [
    [alpha, 'al-1', 'Fix the login page'],
    [alpha, 'al-12', 'Écrire la page d’accueil: 100% of /docs/login.ts'],
    [beta, 'be-1', 'login'],
    [beta, 'be-2', `It's a "quoted" \\ back|slash & (more)`],
    [stopped, 'st-1', 'login nowhere'],
  ] as const)
    await sql`insert into beads (stream_id, id, title) values (${stream}, ${id}, ${title})`.execute(db);
  await putSession(database.url, 'alpha', { id: 'al-7', alias: 'rig/Login-Helper' });
  await putSession(database.url, 'beta', { id: 'be-7', token: false, state: 'closed' });
  await sql`update sessions set title = 'Repair of pages' where id = 'al-7'`.execute(db);
  await sql`
    insert into agents (stream_id, name, base, kind, present) values (${alpha}, 'rig/loginer', 'loginer', 'agent', true),
      (${alpha}, 'gone-login', 'gone-login', 'agent', false), (${beta}, 'login', 'login', 'named_session', true)`.execute(db);
  await sql`
    insert into messages (stream_id, id, thread_id, principal, recipient, sender, subject, body, archived_at, archived_as) values
      (${alpha}, 'al-20', 't', 'human', 'human', 'a', 'The login is down', 'b', null, null),
      (${alpha}, 'al-21', 't', 'human', 'human', 'a', 'An old login', 'b', now(), 'archived')`.execute(db);
});
afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

describe('a search', () => {
  it('finds what is called so first, then what begins so, then what has the words', async () => {
    expect(await found('AL-1')).toEqual(['bead alpha al-1', 'bead alpha al-12']);
    expect(await found('al-1', { limit: '1' })).toEqual(['bead alpha al-1']);
    expect(await found('login')).toEqual([
      'agent alpha rig/loginer',
      'bead beta be-1',
      'session alpha al-7',
      'bead alpha al-12',
      'bead alpha al-1',
      'mail alpha al-20',
    ]);
    expect(await found('page login')).toEqual(['session alpha al-7', 'bead alpha al-12', 'bead alpha al-1']);
    expect(await found('al')).toEqual(expect.arrayContaining(['city alpha alpha', 'session alpha al-7', 'bead alpha al-1']));
    expect(await found('rig/login-h')).toEqual(['session alpha al-7']);
    expect(await found('docs')).toEqual(['bead alpha al-12']);
    expect((await search('repair')).items).toEqual([
      { kind: 'session', city: 'alpha', id: 'al-7', title: 'Repair of pages', name: 'rig/Login-Helper', state: 'active' },
    ]);
  });

  it('takes every character for what it is', async () => {
    expect(await found('100%')).toEqual(['bead alpha al-12']);
    expect(await found(`it's "quoted" \\ back|slash`)).toEqual(['bead beta be-2']);
    for (const q of ['%', '_', '\\', "'", ':*', '& |', '!', '()', '<->', 'a', '😀', "' or true --", `${'x'.repeat(200)}`, '\u00e9'])
      expect([q, (await search(q)).items.filter(({ kind }) => kind === 'bead' || kind === 'mail')]).toEqual([q, []]);
    expect(await found('écrire')).toEqual(['bead alpha al-12']);
  });

  it('takes a capital for a small letter, in every alphabet and on either way', async () => {
    await putSession(database.url, 'alpha', { id: 'al-8', alias: 'worker', token: false });
    await sql`update sessions set title = 'Ärger' where id = 'al-8'`.execute(db);
    for (const cities of [undefined, ['alpha']]) expect(await found('ärger', {}, cities)).toEqual(['session alpha al-8']);
  });

  it('keeps to kinds, to cities, and to what the caller may see', async () => {
    expect(await found('login', { kinds: 'mail,agent' })).toEqual(['agent alpha rig/loginer', 'mail alpha al-20']);
    expect(await found('login', { cities: 'beta' })).toEqual(['bead beta be-1']);
    expect(await found('login', {}, ['beta'])).toEqual(['bead beta be-1']);
    expect(await found('login', { cities: 'alpha' }, ['beta'])).toEqual([]);
    expect(await found('stopped')).toEqual(['city stopped stopped']);
    expect(await found('al', {}, ['beta'])).toEqual([]);
    expect(await found('login', {}, [])).toEqual([]);
    // The same answers on either way.
    for (const q of ['login', 'al-1', 'page login', 'repair', '100%'])
      expect(await found(q, {}, ['alpha', 'beta', 'stopped'])).toEqual(await found(q, { cities: 'alpha,beta,stopped' }));
  });

  it('says what it has not looked at, of the caller’s own alone', async () => {
    expect(await search('page', { kinds: 'bead' })).not.toHaveProperty('partial');
    expect(await search('page', { kinds: 'bead' }, undefined, { ...LIMITS, ranked: 2 })).toMatchObject({ partial: true });
    expect(await search('login', { kinds: 'bead' }, ['alpha'], { ...LIMITS, own: 2 })).toMatchObject({
      partial: true,
      partial_errors: ['bead: the newest 2 were looked at'],
    });
    expect(await search('nothing', { kinds: 'bead' }, ['beta'], { ...LIMITS, own: 3 })).toEqual({ items: [] });
  });

  it('looks for whole words first, where very many have them', async () => {
    const other = await cloneDatabase();
    const many = createDb(createPool(other.url, { max: 2 }));
    try {
      const { streamId } = await registerCity(many, 'alpha', '/alpha');
      await sql`
        insert into beads (stream_id, id, title)
        select ${streamId}, 'al-' || n, case when n not between 11 and 50 then 'Mended pages' else 'Mend the page' end from generate_series(1, 60) n`.execute(
        many,
      );
      const of = async (q: string, ranked: number): Promise<[readonly string[], boolean | undefined]> => {
        const query = SearchQuery.parse({ q, kinds: 'bead', limit: '100' });
        const { items, partial } = await new SearchService(new SearchRepository(many)).search(query, ANYBODY, { ...LIMITS, ranked });
        return [[...new Set(items.map(({ title }) => title))].sort(), partial];
      };
      expect(await of('page mend', 20)).toEqual([['Mend the page'], true]);
      // All of it where there are not so many.
      expect(await of('page mend', 5_000)).toEqual([['Mend the page', 'Mended pages'], undefined]);
      expect(await of('pages mended', 5_000)).toEqual([['Mended pages'], undefined]);
    } finally {
      await many.destroy();
      await other.drop();
    }
  });

  it('looks no longer for whole words and for beginnings than for one of them', async () => {
    const limits: number[] = [];
    const pool = createPool(database.url, { max: 1 });
    const asked = new Db({
      dialect: new BeginningDialect({ pool }),
      log: ({ query }) => {
        if (query.sql.includes("'statement_timeout'")) limits.push(Number(query.parameters[0]));
      },
    });
    const clock = jest.spyOn(performance, 'now');
    try {
      let at = 0;
      clock.mockImplementation(() => (at += 50));
      await new SearchRepository(asked).look(
        'bead',
        wantedOf('login page'),
        { cities: undefined, apart: false, limit: 5, most: 100 },
        60_000,
      );
      expect([limits.length, limits[0], limits[1]! < 60_000]).toEqual([2, 60_000, true]);
    } finally {
      clock.mockRestore();
      await asked.destroy();
    }
  });

  it('keeps what it has found among the newest of a caller’s own, when there is no time for all', async () => {
    const asked: number[] = [];
    class Long extends SearchRepository {
      override async look(...args: Parameters<SearchRepository['look']>): ReturnType<SearchRepository['look']> {
        asked.push(args[2].most);
        if (args[2].most > 2) await this.late();
        return super.look(...args);
      }
      late(): Promise<unknown> {
        return db.transaction().execute(async (tx) => {
          await sql`set local statement_timeout = 1`.execute(tx);
          await sql`select pg_sleep(10)`.execute(tx);
        });
      }
    }
    const long = (limits: Partial<SearchLimits>) =>
      new SearchService(new Long(db)).search(
        SearchQuery.parse({ q: 'login', kinds: 'bead' }),
        { ...ANYBODY, cities: ['alpha'] },
        { ...LIMITS, first: 2, ...limits },
      );
    const answer = await long({ ms: 1_000_000_000 });
    expect(answer.items.map(({ id }) => id)).toEqual(['al-12', 'al-1']);
    expect([asked, answer.partial_errors]).toEqual([[2, 20_000], ['bead: the newest 2 were looked at']]);
    // Nor does it begin what it knows to take too long.
    asked.length = 0;
    expect((await long({ own: 1_000_000_000 })).items).toHaveLength(2);
    expect(asked.every((most) => most < 1_000_000)).toBe(true);
  });

  it('makes words only of what has those that are looked for, of a caller’s own', async () => {
    const other = await cloneDatabase();
    const own = createDb(createPool(other.url, { max: 2 }));
    try {
      const { streamId } = await registerCity(own, 'alpha', '/alpha');
      await sql`
        insert into beads (stream_id, id, title)
        select ${streamId}, 'al-' || n, case n when 1 then 'Lost AND found' else 'Lost like many' end from generate_series(1, 50) n`.execute(
        own,
      );
      await sql`alter function search_words rename to words_of`.execute(own);
      await sql`
        create function search_words(p_names text[], p_text text) returns tsvector language plpgsql immutable as $$
        begin
          if p_text = 'Lost like many' and not '{al-50}' <@ p_names then raise 'words of %', p_names; end if;
          return words_of(p_names, p_text);
        end $$`.execute(own);
      const search = async (q: string): Promise<string[]> =>
        (
          await new SearchService(new SearchRepository(own)).search(
            SearchQuery.parse({ q, kinds: 'bead' }),
            { ...ANYBODY, cities: ['alpha'] },
            LIMITS,
          )
        ).items.map(({ id }) => id);
      expect(await search('Foun lOst')).toEqual(['al-1']);
      expect(await search('AL-50')).toEqual(['al-50']);
    } finally {
      await own.destroy();
      await other.drop();
    }
  });

  it('leaves out a kind that takes too long, and says so', async () => {
    class Slow extends SearchRepository {
      override async look(...args: Parameters<SearchRepository['look']>): ReturnType<SearchRepository['look']> {
        if (args[0] === 'bead')
          await db.transaction().execute(async (tx) => {
            await sql`set local statement_timeout = 1`.execute(tx);
            await sql`select pg_sleep(10)`.execute(tx);
          });
        return super.look(...args);
      }
    }
    const answer = await new SearchService(new Slow(db)).search(SearchQuery.parse({ q: 'login' }), ANYBODY, LIMITS);
    expect(answer.partial_errors).toEqual([expect.stringMatching(/^bead: .*too long/)]);
    expect(answer.items.map(({ kind }) => kind)).toContain('mail');
  });

  it('keeps what has the whole words, when there is no time for what only begins so', async () => {
    // The database gives the second of the two up, as its limit of time does.
    let asked = 0;
    const tooSlow = sql`do $$ begin raise query_canceled; end $$`.toOperationNode();
    const hurried = db.withPlugin({
      transformQuery: ({ node, queryId: _ }) => (JSON.stringify(node).includes('with looked as') && ++asked === 2 ? tooSlow : node),
      transformResult: async ({ result }) => result,
    });
    const answer = await new SearchService(new SearchRepository(hurried as Db)).search(
      SearchQuery.parse({ q: 'login page', kinds: 'bead' }),
      ANYBODY,
      LIMITS,
    );
    expect(answer.items.map(({ id }) => id)).toEqual(['al-12', 'al-1']);
    expect(answer.partial_errors).toEqual(['bead: words that only begin so take too long; more letters help']);
  });
});
