import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { TranscriptRepository, onceKeyOf } from '../transcript/transcript.repository.js';
import { PublicationEnds } from './publication-ends.js';
import { PublicationsRepository } from './publications.repository.js';

const PERSON = { id: 'U1', display_name: 'Ann', is_bot: false };

describe('a publication that has arrived', () => {
  let database: TestDatabase;
  let db: Db;
  let transactions: Transactions;
  let conversation: number;
  let ends: PublicationEnds;
  let publications: PublicationsRepository;
  let told: unknown[];
  const transcript = new TranscriptRepository();

  beforeEach(async () => {
    database = await cloneDatabase();
    db = createDb(createPool(database.url));
    transactions = new Transactions(db, new Failpoints());
    publications = new PublicationsRepository(db);
    told = [];
    const { rows } = await sql<{ pk: number }>`
      with s as (insert into event_streams (name) values ('alpha') returning id)
      insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
      select id, 'k', 's', 'slack', 'a', 'c', '', 'room' from s returning pk`.execute(db);
    conversation = rows[0]!.pk;
    const nothing = async (): Promise<undefined> => undefined;
    const members = async (): Promise<unknown[]> => [{ selector: 'other', session_pk: 2 }];
    const tell = async (_tx: unknown, _at: unknown, { told: { text } }: any): Promise<void> => void told.push(text);
    const stubs: any = { of: nothing, members, tell, append: nothing, mark: nothing, counter: () => ({ inc: () => undefined }) };
    ends = new PublicationEnds(publications, transcript, stubs, stubs, stubs, stubs, stubs, stubs, stubs, stubs);
  });
  afterEach(async () => {
    await db.destroy();
    await database.drop();
  });

  const comes = (id: string, text: string): Promise<unknown> =>
    transactions.run((tx) =>
      transcript.append(tx, conversation, {
        ...{
          id: `entry-${id}`,
          kind: 'inbound',
          providerMessageId: id,
          onceKey: onceKeyOf(id),
          actor: PERSON,
          text,
          explicitTarget: '',
          replyTo: '',
        },
        ...{ attachments: [], sourceSessionId: '', route: {} },
      }),
    );
  const publish = async (text: string): Promise<number> => {
    const { rows } = await sql<{ pk: number }>`
      insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, session_pk, session_id, body, generation, root, deadline)
      select stream_id, pk, 'pub-' || ${text}, 'outbound', 1, 'de-1', ${text}, 0, 0, now() + interval '1 hour' from extmsg_conversations
      returning pk`.execute(db);
    return rows[0]!.pk;
  };
  const arrives = (pk: number, messageId: string): Promise<void> =>
    transactions.run(async (tx) => {
      const at = await new ConversationsRepository().lockPk(tx, conversation);
      const outcome = { delivered: true, messageId, kind: '', retryAfterMs: 0, metadata: null } as any;
      await ends.record(tx, at!, (await publications.byPk(tx, pk))!, undefined, outcome);
    });
  const entries = async (): Promise<unknown[]> => {
    const { rows } = await sql<{ kind: string; text: string; source_session_id: string }>`
      select kind, text, source_session_id from extmsg_entries order by sequence`.execute(db);
    return rows.map(({ kind, text, source_session_id: from }) => [kind, text, from]);
  };

  // Guard: adapters give ids, and one that gives the id of another message takes nobody's words.
  it('stands beside what a person said before it under the id that its adapter answers', async () => {
    await comes('x', 'It is.');
    await arrives(await publish('It is.'), 'x');
    expect([await entries(), told]).toEqual([
      [
        ['inbound', 'It is.', ''],
        ['outbound', 'It is.', 'de-1'],
      ],
      ['It is.'],
    ]);
  });

  it('is what the provider sent back of it, in whatever form', async () => {
    const pk = await publish('It is.');
    await comes('x', '*It is.*');
    await arrives(pk, 'x');
    expect(await entries()).toEqual([['outbound', '*It is.*', 'de-1']]);
  });

  // Guard: what an agent has said is in the transcript, and its peers are told of it.
  it('stands beside another that has the id', async () => {
    for (const text of ['one', 'two']) await arrives(await publish(text), '1');
    expect([await entries(), told]).toEqual([
      [
        ['outbound', 'one', 'de-1'],
        ['outbound', 'two', 'de-1'],
      ],
      ['one', 'two'],
    ]);
  });
});
