import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { HoldingGate } from '../../../../test/support/gate.js';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import type { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { WorkService } from '../work/work.service.js';
import { MailAddresses } from './mail-addresses.service.js';
import { MailRetention } from './mail-retention.js';
import { MailRetentionRepository } from './mail-retention.repository.js';
import type { MailSync } from './mail-sync.js';
import { MailSendingService } from './mail-sending.service.js';
import { MailRepository } from './mail.repository.js';
import { MailService } from './mail.service.js';

interface Services {
  readonly mail: MailService;
  readonly sending: MailSendingService;
  readonly retention: MailRetention;
}

let fixture: WorkFixture;
let a: Services;
let b: Services;

function build(work: WorkService): Services {
  const addresses = new MailAddresses(new RosterService(new RosterRepository(fixture.db)));
  const logger = new AppLogger(createLogger('silent', {}));
  return {
    mail: new MailService(work, addresses, new MailRepository()),
    sending: new MailSendingService(work, addresses, new MailRepository(), new Idempotency(new IdempotencyRepository())),
    retention: new MailRetention(
      work,
      fixture.transactions,
      new MailRetentionRepository(fixture.db),
      { follow: () => Promise.resolve(0) } as unknown as MailSync,
      undefined as unknown as Lifecycle,
      logger,
    ),
  };
}

beforeEach(async () => {
  fixture = await workFixture();
  a = build(fixture.work);
  b = build(fixture.another());
});
afterEach(() => fixture.close());

const send = (n: number): Promise<unknown> =>
  a.sending.send(fixture.city, { to: 'mayor', from: 'deacon', subject: `message ${n}` }, undefined, ANYBODY);
const kinds = async (): Promise<string[]> => (await fixture.events()).map(({ type, subject }) => `${type} ${subject}`);
const age = (column: 'read_at' | 'archived_at' | 'created_at', by: string): Promise<unknown> =>
  sql`update messages set ${sql.ref(column)} = ${sql.ref(column)} - ${by}::interval`.execute(fixture.db);

/** Lets `first` go as far as its commit, then starts `second`, and lets both go on once `second` waits for it or has ended. */
async function overlapping(first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<void> {
  const gate = new HoldingGate();
  fixture.failpoints.arm('tx.before_commit', gate.action(1));
  const one = first();
  await eventually(() => gate.held === 1);
  let ended = false;
  const two = second().finally(() => (ended = true));
  await eventually(async () => {
    const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      fixture.db,
    );
    return ended || rows.length > 0;
  });
  gate.release();
  await Promise.all([one, two]);
}

const withoutLock = (): Promise<unknown> =>
  sql`create or replace function begin_work(p_stream integer) returns boolean language sql as $$ select true $$`.execute(fixture.db);

describe('two processes', () => {
  const read = ({ mail }: Services): Promise<unknown> => mail.mark(fixture.city, 'al-1', true, undefined, ANYBODY);
  const twice = async (): Promise<string[]> => {
    await send(1);
    await overlapping(
      () => read(a),
      () => read(b),
    );
    return (await kinds()).slice(1);
  };

  it('report one change once', async () => expect(await twice()).toEqual(['mail.marked_read al-1']));

  it('would report it twice without the lock of the city', async () => {
    await withoutLock();
    expect(await twice()).toEqual(['mail.marked_read al-1', 'mail.marked_read al-1']);
  });

  it('never reply to what the other has archived', async () => {
    await send(1);
    const reply = (): Promise<unknown> => b.sending.reply(fixture.city, 'al-1', undefined, {}, undefined, ANYBODY);
    const refused = overlapping(() => a.mail.archive(fixture.city, 'al-1', 'archived', undefined, ANYBODY), reply);
    await expect(refused).rejects.toMatchObject({ problem: 'mail_not_found' });
    expect(await kinds()).toEqual(['mail.sent al-1', 'mail.archived al-1']);
  });

  it('send one message under one key', async () => {
    const once = ({ sending }: Services) => sending.send(fixture.city, { to: 'mayor', subject: 's' }, 'key', ANYBODY);
    const answers = await Promise.all([once(a), once(b), once(a), once(b)]);
    expect(new Set(answers.map(({ value }) => JSON.stringify(value, Object.keys(value).sort()))).size).toBe(1);
    expect(await kinds()).toEqual(['mail.sent al-1']);
  });
});

describe('retention', () => {
  const prepare = async (): Promise<void> => {
    for (let i = 1; i <= 3; i++) await send(i);
    for (const id of ['al-1', 'al-2']) await a.mail.mark(fixture.city, id, true, undefined, ANYBODY);
    await age('read_at', '61 minutes');
  };
  const sweptTwice = async (): Promise<string[]> => {
    await prepare();
    await overlapping(
      () => a.retention.sweep(fixture.city),
      () => b.retention.sweep(fixture.city),
    );
    return (await kinds()).slice(5).sort();
  };

  it('archives read mail an hour after it was read, once, whichever worker does it', async () => {
    expect(await sweptTwice()).toEqual(['mail.archived al-1', 'mail.archived al-2']);
    expect((await fixture.events(5))[0]).toMatchObject({
      actor: 'reconciler',
      message: 'read mail past its retention',
      payload: { rig: 'alpha' },
    });
  });

  it('would archive it twice without the lock of the city', async () => {
    await withoutLock();
    expect(await sweptTwice()).toEqual(['mail.archived al-1', 'mail.archived al-1', 'mail.archived al-2', 'mail.archived al-2']);
  });

  it('leaves mail that was read just now, however old it is, and unread mail', async () => {
    await send(1);
    await send(2);
    await age('created_at', '10 years');
    await a.mail.mark(fixture.city, 'al-1', true, undefined, ANYBODY);
    await age('read_at', '59 minutes');
    await a.retention.pass();
    expect(await kinds()).toEqual(['mail.sent al-1', 'mail.sent al-2', 'mail.marked_read al-1']);
  });

  it('archives unread mail where the city asks for it', async () => {
    await send(1);
    await age('created_at', '25 hours');
    await send(2);
    await sql`insert into mail_settings values (${fixture.city.streamId}, interval '24 hours')`.execute(fixture.db);
    await a.retention.pass();
    expect((await fixture.events(2)).map(({ subject, message }) => ({ subject, message }))).toEqual([
      { subject: 'al-1', message: 'unread mail past its retention' },
    ]);
  });

  const readLongAgo = (n: number): Promise<unknown> =>
    sql`insert into messages (stream_id, id, thread_id, principal, recipient, sender, subject, body, read_at)
      select ${fixture.city.streamId}, 'old-' || n, 't', 'human', 'human', 's', 's', '', now() - interval '2 hours' from generate_series(1, ${n}::integer) n`.execute(
      fixture.db,
    );

  it('archives all that is due in one pass, some in each transaction', async () => {
    await readLongAgo(620);
    await a.retention.pass();
    expect(await kinds()).toHaveLength(620);
    expect(await a.retention.sweep(fixture.city)).toBe(0);
  });

  it('takes no more than a transaction may, and nothing of a city that has stopped', async () => {
    await readLongAgo(620);
    expect([await a.retention.sweep(fixture.city), await b.retention.sweep(fixture.city), await a.retention.sweep(fixture.city)]).toEqual([
      500, 120, 0,
    ]);
    await prepare();
    await sql`update cities set running = false`.execute(fixture.db);
    const before = await kinds();
    await a.retention.pass();
    expect(await kinds()).toEqual(before);
  });

  it('lets what was swept be answered, and forgets it after thirty days', async () => {
    await prepare();
    await a.retention.pass();
    const { value } = await a.sending.reply(fixture.city, 'al-1', undefined, {}, undefined, ANYBODY);
    expect(value).toMatchObject({ reply_to: 'al-1', to: 'deacon' });
    await expect(a.mail.mark(fixture.city, 'al-1', false, undefined, ANYBODY)).rejects.toMatchObject({ problem: 'mail_not_found' });
    await age('archived_at', '29 days');
    expect(await a.retention.purge()).toBe(0);
    await age('archived_at', '1 day');
    expect(await Promise.all([a.retention.purge(), b.retention.purge()]).then(([x, y]) => x + y)).toBe(2);
    const { rows } = await sql<{ id: string }>`select id from messages order by id`.execute(fixture.db);
    expect(rows.map(({ id }) => id)).toEqual(['al-3', 'al-4']);
  });
});
