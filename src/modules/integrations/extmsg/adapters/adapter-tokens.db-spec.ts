import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { credentialOf } from '../../../../contract/principal.js';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import { AdapterAuthenticator } from './adapter-authenticator.service.js';
import { adapterTokenHash, credentialsOf } from './adapter-token.js';
import { AdaptersRepository } from './adapters.repository.js';

const SECRET = Buffer.alloc(32, 7);

describe('the token of an adapter', () => {
  let database: TestDatabase;
  let db: Db;
  let repository: AdaptersRepository;
  let known: AdapterAuthenticator;
  let pk: number;

  beforeEach(async () => {
    database = await cloneDatabase();
    db = createDb(createPool(database.url));
    repository = new AdaptersRepository();
    known = new AdapterAuthenticator(db, repository);
    const { rows } = await sql<{ pk: number }>`
      with s as (insert into event_streams (name) values ('alpha') returning id)
      insert into extmsg_adapters (stream_id, provider, account_id, name, callback_url, token_hash)
      select id, 'slack', 'a', 'n', '', '' from s returning pk`.execute(db);
    pk = rows[0]!.pk;
  });
  afterEach(async () => {
    await db.destroy();
    await database.drop();
  });

  const given = async (version: number): Promise<string> => {
    const { token } = credentialsOf(SECRET, pk, version);
    await db.transaction().execute((tx) => repository.setToken(tx, pk, version, adapterTokenHash(token)));
    return token;
  };
  const shown = async (token: string): Promise<string> => credentialOf((await known.authenticate(token))!)!;

  // Guard: what a token of an adapter has opened ends when the adapter has another.
  it('is good until there is another one, also for what was let in just before', async () => {
    const first = await given(1);
    const before = await shown(first);
    expect(await known.stillValid(before)).toBe(true);
    const second = await given(2);
    expect([await known.authenticate(first), await known.stillValid(before)]).toEqual([undefined, false]);
    const after = await shown(second);
    expect(await known.stillValid(after)).toBe(true);
    await sql`delete from extmsg_adapters`.execute(db);
    expect([await known.stillValid(after), await known.stillValid('sva_1')]).toEqual([false, false]);
  });

  // Guard: streams of adapters are looked after with one statement.
  it('is asked for with those of others', async () => {
    const credential = await shown(await given(1));
    const look = jest.spyOn(repository, 'callers');
    const others = [1, 2, 3].map((n) => `sva_${pk + n}.1`);
    const good = await Promise.all([credential, ...others].map((one) => known.stillValid(one)));
    expect(good).toEqual([true, false, false, false]);
    expect(look).toHaveBeenCalledTimes(1);
  });
});
