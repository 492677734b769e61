import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { Message } from '../../../contract/mail.schemas.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { WorkService } from '../work/work.service.js';
import { MailAddresses } from './mail-addresses.service.js';
import { MailListsRepository, type PageRequest } from './mail-lists.repository.js';
import { MailSendingService } from './mail-sending.service.js';
import { MailRepository } from './mail.repository.js';
import type { MailFilter } from './mail-filter.js';
import type { MailSendInputBody } from './mail.schemas.js';
import { MailService } from './mail.service.js';

let fixture: WorkFixture;
let addresses: MailAddresses;
let lists: MailListsRepository;
let mail: MailService;
let sending: MailSendingService;

const build = (work: WorkService): { mail: MailService; sending: MailSendingService } => ({
  mail: new MailService(work, addresses, new MailRepository()),
  sending: new MailSendingService(work, addresses, new MailRepository(), new Idempotency(new IdempotencyRepository())),
});

beforeEach(async () => {
  fixture = await workFixture();
  addresses = new MailAddresses(new RosterService(new RosterRepository(fixture.db)));
  lists = new MailListsRepository(fixture.db);
  ({ mail, sending } = build(fixture.work));
});
afterEach(() => fixture.close());

const send = (to: string, more: Partial<MailSendInputBody> = {}): Promise<Message> =>
  sending.send(fixture.city, { to, subject: 'hello', ...more }, undefined, ANYBODY).then((done) => done.value);
const log = async (above = 0): Promise<string[]> => (await fixture.events(above)).map((e) => `${e.type} ${e.subject} ${e.actor}`);
async function listed(
  filter: Partial<MailFilter> = {},
  request: Partial<PageRequest> = {},
): Promise<{ items: Message[]; total: number; more: unknown }> {
  const page = await lists.page(
    fixture.city,
    { status: 'all', ...filter },
    { order: 'desc', after: undefined, limit: 100, tag: 'alpha', ...request },
  );
  return { items: page!.items.map((json) => Message.parse(JSON.parse(json))), total: page!.total.total, more: page!.more };
}
const ids = async (filter?: Partial<MailFilter>): Promise<string[]> => (await listed(filter)).items.map(({ id }) => id);

describe('sending', () => {
  it('stores one message, reports it whole and names the recipient', async () => {
    const sent = await send('witness', { from: 'mayor', body: 'text', priority: 1 });
    expect(sent).toEqual({
      id: 'al-1',
      from: 'mayor',
      to: 'web/witness',
      subject: 'hello',
      body: 'text',
      read: false,
      priority: 1,
      rig: 'alpha',
      thread_id: expect.stringMatching(/^thread-[0-9a-f]{12}$/),
      created_at: expect.any(String),
    });
    const [event] = await fixture.events();
    expect(event).toMatchObject({
      type: 'mail.sent',
      actor: 'mayor',
      subject: 'al-1',
      message: 'web/witness',
      payload: { rig: 'alpha', message: sent },
    });
    expect((await listed()).items).toEqual([sent]);
  });

  it('knows people, agents and named sessions, in full, within a rig and by unique bare names', async () => {
    const known = [
      ['human', '', 'human'],
      ['mayor', '', 'mayor'],
      ['deacon', '', 'deacon'],
      ['witness', '', 'web/witness'],
      ['polecat', 'core', 'core/polecat'],
      ['web/polecat', 'core', 'web/polecat'],
    ] as const;
    for (const [to, rig, shown] of known) expect(await send(to, { rig })).toMatchObject({ to: shown, rig: rig || 'alpha' });
  });

  it('refuses what names nobody, or several, says where that stands, and leaves nothing behind', async () => {
    const refused = [
      [{ to: 'nobody' }, 'invalid: unknown recipient "nobody"', 'body.to'],
      [{ to: 'polecat' }, 'invalid: "polecat" is ambiguous: core/polecat, web/polecat', 'body.to'],
      [{ to: 'mayor', cc: ['nobody'] }, 'invalid: unknown recipient "nobody"', 'body.cc.0'],
      [{ to: 'mayor', cc: ['human', 'human', 'polecat'] }, 'invalid: "polecat" is ambiguous: core/polecat, web/polecat', 'body.cc.2'],
      [{ to: 'mayor', rig: 'nowhere' }, 'not_found: rig nowhere not found', undefined],
      [{ to: 'agent:mayor' }, 'invalid: unknown recipient "agent:mayor"', 'body.to'],
    ] as const;
    for (const [{ to, ...more }, detail, location] of refused)
      await expect(send(to, more as object)).rejects.toMatchObject({ detail, errors: location && [{ location }] });
    expect(await ids()).toEqual([]);
    expect(await log()).toEqual([]);
    expect((await send('mayor')).id).toBe('al-1');
  });

  it('gives every cc a copy of its own in one thread, and nobody two', async () => {
    const sent = await send('mayor', { cc: ['deacon', 'mayor', 'human', 'deacon'] });
    const copies = (await listed({ thread: sent.thread_id })).items;
    expect(copies.map(({ to, cc }) => ({ to, cc })).sort((x, y) => x.to.localeCompare(y.to))).toEqual(
      ['deacon', 'human', 'mayor'].map((to) => ({ to, cc: ['deacon', 'human'] })),
    );
    expect(sent).toMatchObject({ to: 'mayor', id: 'al-1' });
    expect(await log()).toEqual(['mail.sent al-1 api', 'mail.sent al-2 api', 'mail.sent al-3 api']);
  });

  it('keeps the text of a sender who is nobody, and is the caller without one', async () => {
    expect(await send('mayor', { from: 'a passer-by' })).toMatchObject({ from: 'a passer-by' });
    expect(await send('mayor', { from: '' })).toMatchObject({ from: 'api' });
    expect(await send('mayor', { from: 'polecat', rig: 'web' })).toMatchObject({ from: 'web/polecat' });
    expect(await log()).toEqual(['mail.sent al-1 a passer-by', 'mail.sent al-2 api', 'mail.sent al-3 web/polecat']);
    expect(await ids({ from: await addresses.author(fixture.city, 'a passer-by') })).toEqual(['al-1']);
    expect(await ids({ from: await addresses.author(fixture.city, 'web/polecat') })).toEqual(['al-3']);
  });

  it('answers a repeat with the key also after its recipient has left', async () => {
    const body = { to: 'deacon', subject: 'once' };
    const first = await sending.send(fixture.city, body, 'k', ANYBODY);
    await mail.archive(fixture.city, first.value.id, 'archived', undefined, ANYBODY);
    await sql`update agents set present = false where name = 'deacon'`.execute(fixture.db);
    const again = await sending.send(fixture.city, body, 'k', ANYBODY);
    expect(again).toEqual({ value: first.value, index: 2 });
    expect(await log()).toHaveLength(2);
    await expect(sending.send(fixture.city, { ...body, subject: 'twice' }, 'k', ANYBODY)).rejects.toMatchObject({
      problem: 'idempotency_mismatch',
    });
  });

  // Guard: what a session has sent can be answered, whether it says who it is or not.
  it('has the mailbox of the session that sends it, and not of a key with the name of an agent', async () => {
    const { name: city, streamId } = fixture.city;
    const session = { id: 'al-900', pk: 1, city, streamId, agentName: 'mayor', names: ['al-900', 'mayor'] };
    const caller = { ...ANYBODY, actor: 'mayor', session };
    const { value: sent } = await sending.send(fixture.city, { to: 'human', subject: 'done?' }, undefined, caller);
    expect(sent.from).toBe('mayor');
    const reply = (id: string) => sending.reply(fixture.city, id, undefined, { body: 'yes' }, undefined, ANYBODY);
    const { value: answer } = await reply(sent.id);
    expect(answer).toMatchObject({ to: 'mayor', reply_to: sent.id });
    // A bare name may be that of another agent.
    const bare = { ...caller, session: { ...session, agentName: 'polecat', names: ['polecat'] } };
    const { value: other } = await sending.send(fixture.city, { to: 'human', subject: 'x' }, undefined, { ...bare, actor: 'polecat' });
    expect(other.from).toBe('polecat');
    const { value: byKey } = await sending.send(fixture.city, { to: 'human', subject: 'x' }, undefined, { ...ANYBODY, actor: 'mayor' });
    expect((await reply(byKey.id)).value).toMatchObject({ to: 'human' });
  });

  // Guard: what a person writes can be answered, whatever his key is called, and is found under that name.
  it('has the mailbox of people where no session sends it', async () => {
    const ann = { ...ANYBODY, actor: 'ann' };
    const { value: asked } = await sending.send(fixture.city, { to: 'mayor', subject: 'ready?' }, undefined, ann);
    expect(asked.from).toBe('ann');
    const { value: answer } = await sending.reply(fixture.city, asked.id, undefined, { from: 'mayor' }, undefined, ANYBODY);
    expect(answer).toMatchObject({ to: 'human', from: 'mayor', reply_to: asked.id });
    expect(await ids({ principal: await addresses.mailbox(fixture.city, 'human') })).toEqual([answer.id]);
    const from = async (who: string): Promise<string[]> => ids({ from: await addresses.author(fixture.city, who) });
    expect([await from('ann'), await from('human'), await from('mayor')]).toEqual([[asked.id], [], [answer.id]]);
  });

  // Guard: a command of an order is no person.
  it('has no mailbox where a command of an order sends it', async () => {
    const caller = { ...ANYBODY, actor: 'order:sweep', command: true } as const;
    const { value: sent } = await sending.send(fixture.city, { to: 'mayor', subject: 'swept' }, undefined, caller);
    expect(sent.from).toBe('order:sweep');
    const answer = sending.reply(fixture.city, sent.id, undefined, { from: 'mayor' }, undefined, ANYBODY);
    await expect(answer).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(await ids({ from: await addresses.author(fixture.city, 'order:sweep') })).toEqual([sent.id]);
  });

  // Guard: what nobody can answer says so, one by one and in lists.
  it('is told as not to be answered exactly where a reply is refused', async () => {
    const told = new Map<string, unknown>();
    const refused = new Map<string, unknown>();
    for (const from of ['mayor', 'human', 'a passer-by', undefined, 'order:sweep']) {
      const { id } = await send('deacon', { from });
      const one = Message.parse(JSON.parse((await lists.find(fixture.city, id, 'alpha'))!.json!));
      expect((await listed()).items.find((item) => item.id === id)).toEqual(one);
      told.set(id, one.answerable);
      const reply = sending.reply(fixture.city, id, undefined, { from: 'deacon' }, undefined, ANYBODY);
      refused.set(
        id,
        await reply.then(
          () => undefined,
          () => false,
        ),
      );
    }
    expect(told).toEqual(refused);
    expect([...told.values()]).toEqual([undefined, undefined, false, undefined, false]);
  });

  it('sends too much text to no one at once, and leaves it to who sends to many', async () => {
    const body = 'x'.repeat(256 * 1024);
    await sql`insert into agents (stream_id, name, base, kind) select ${fixture.city.streamId}, 'a' || n, 'a' || n, 'agent' from generate_series(1, 40) n`.execute(
      fixture.db,
    );
    await expect(sending.broadcast(fixture.city, { subject: 's', body }, undefined, ANYBODY)).rejects.toMatchObject({
      detail: 'invalid: 45 copies of this body are longer than 8 MiB together',
    });
    expect(await ids()).toEqual([]);
    // Guard: what is too much for one transaction is accepted, however few it goes to.
    sending.onMany(async (_work, _message, recipients) => ({ items: [], total: recipients.length, request_id: 'r', event_cursor: '1' }));
    const { value } = await sending.broadcast(fixture.city, { subject: 's', body }, undefined, ANYBODY);
    expect(value).toMatchObject({ total: 45, request_id: 'r' });
    expect((await sending.broadcast(fixture.city, { subject: 's', body, to: ['mayor'] }, undefined, ANYBODY)).value.items).toHaveLength(1);
  });
});

describe('a broadcast', () => {
  const broadcast = (more: object = {}): ReturnType<MailSendingService['broadcast']> =>
    sending.broadcast(fixture.city, { subject: 'all hands', ...more }, undefined, ANYBODY);

  it('reaches every agent and named session but its sender, each in a thread of its own', async () => {
    const { value, index } = await broadcast({ from: 'mayor' });
    expect(value.items!.map(({ to }) => to)).toEqual(['core/polecat', 'deacon', 'web/polecat', 'web/witness']);
    expect(value.total).toBe(4);
    expect(new Set(value.items!.map(({ thread_id }) => thread_id)).size).toBe(4);
    expect(index).toBe(4);
    expect(await log()).toEqual(['al-1', 'al-2', 'al-3', 'al-4'].map((id) => `mail.sent ${id} mayor`));
  });

  it('reaches those that it names, each once, or nobody', async () => {
    expect((await broadcast({ to: ['human', 'mayor', 'human'] })).value.items).toHaveLength(2);
    const unknown = { detail: 'invalid: unknown recipient "nobody"', errors: [{ location: 'body.to.1', value: 'nobody' }] };
    await expect(broadcast({ to: ['mayor', 'nobody'] })).rejects.toMatchObject(unknown);
    await expect(broadcast({ to: [] })).rejects.toMatchObject({ detail: 'invalid: there is nobody to send this to' });
    await sql`update agents set present = (name = 'mayor')`.execute(fixture.db);
    await expect(broadcast({ from: 'mayor' })).rejects.toMatchObject({ detail: 'invalid: there is nobody to send this to' });
    expect(await ids()).toHaveLength(2);
  });
});

describe('a reply', () => {
  const reply = (id: string, body: object = {}, key?: string): Promise<Message> =>
    sending.reply(fixture.city, id, undefined, body, key, ANYBODY).then((done) => done.value);

  it('goes to the sender, in the thread, and is reported as a reply only', async () => {
    const original = await send('mayor', { from: 'witness', rig: 'web' });
    const answer = await reply(original.id, { from: 'mayor', body: 'well' });
    expect(answer).toMatchObject({
      to: 'web/witness',
      from: 'mayor',
      subject: 'Re: hello',
      thread_id: original.thread_id,
      reply_to: 'al-1',
      rig: 'web',
    });
    expect(await reply(answer.id, { from: 'web/witness' })).toMatchObject({ to: 'mayor', subject: 'Re: hello' });
    expect((await fixture.events(1)).map(({ type, message, actor }) => ({ type, message, actor }))).toEqual([
      { type: 'mail.replied', message: 'web/witness', actor: 'mayor' },
      { type: 'mail.replied', message: 'mayor', actor: 'web/witness' },
    ]);
    expect((await listed({ thread: answer.id }, { order: 'asc' })).items.map(({ id }) => id)).toEqual(['al-1', 'al-2', 'al-3']);
  });

  it('reaches a sender who has left meanwhile, but no one who never had a mailbox', async () => {
    await send('mayor', { from: 'deacon' });
    await send('mayor', { from: 'a passer-by' });
    await sql`update agents set present = false where name = 'deacon'`.execute(fixture.db);
    expect(await reply('al-1')).toMatchObject({ to: 'deacon' });
    await expect(reply('al-2')).rejects.toMatchObject({ problem: 'wrong_state', detail: expect.stringMatching(/^conflict: /) });
    await expect(reply('al-9')).rejects.toMatchObject({ problem: 'mail_not_found' });
    expect(await ids({ principal: await addresses.mailbox(fixture.city, 'deacon') })).toEqual(['al-3']);
  });

  it('is not possible once the message is archived, except for a repeat', async () => {
    await send('mayor', { from: 'deacon' });
    const answer = await reply('al-1', { body: 'x' }, 'k');
    await mail.archive(fixture.city, 'al-1', 'archived', undefined, ANYBODY);
    expect(await reply('al-1', { body: 'x' }, 'k')).toEqual(answer);
    await expect(reply('al-1', { body: 'y' }, 'other')).rejects.toMatchObject({ problem: 'mail_not_found' });
  });
});

describe('a message', () => {
  it('changes and is reported only when it really changes', async () => {
    await send('mayor');
    for (const read of [false, true, true, false, true]) await mail.mark(fixture.city, 'al-1', read, undefined, ANYBODY);
    for (const as of ['archived', 'archived', 'deleted'] as const) await mail.archive(fixture.city, 'al-1', as, undefined, ANYBODY);
    await mail.archive(fixture.city, 'al-2', 'deleted', undefined, ANYBODY);
    await expect(mail.mark(fixture.city, 'al-1', true, undefined, ANYBODY)).rejects.toMatchObject({ problem: 'mail_not_found' });
    expect(await log(1)).toEqual(['marked_read', 'marked_unread', 'marked_read', 'archived'].map((what) => `mail.${what} al-1 api`));
    expect((await fixture.events(1))[0]!.payload).toEqual({ rig: 'alpha' });
  });

  it('is found by one predicate in lists, counts and the status of the city', async () => {
    for (const to of ['mayor', 'mayor', 'deacon', 'human', 'mayor']) await send(to);
    await mail.mark(fixture.city, 'al-1', true, undefined, ANYBODY);
    await mail.archive(fixture.city, 'al-2', 'archived', undefined, ANYBODY);
    await mail.archive(fixture.city, 'al-3', 'deleted', undefined, ANYBODY);
    expect(await ids({ status: 'unread' })).toEqual(['al-5', 'al-4']);
    expect(await ids()).toEqual(['al-5', 'al-4', 'al-1']);
    expect(await ids({ status: 'archived' })).toEqual(['al-2']);
    expect(await ids({ principal: 'agent:mayor' })).toEqual(['al-5', 'al-1']);
    expect(await ids({ nothing: true })).toEqual([]);
    expect(await lists.count(fixture.city, { status: 'all' })).toEqual({ head: 8, total: 3, unread: 2 });
    expect(await lists.count(fixture.city, { status: 'all', principal: 'agent:mayor' })).toEqual({ head: 8, total: 2, unread: 1 });
    const { rows } = await sql`select * from mail_counts(${fixture.city.streamId})`.execute(fixture.db);
    expect(rows).toEqual([{ total: 3, unread: 2 }]);
  });
});

describe('a list', () => {
  it('walks in one order to the microsecond, whatever comes meanwhile', async () => {
    for (let i = 0; i < 7; i++) await send('mayor');
    // Two instants one microsecond apart, each shared by several.
    await sql`update messages set created_at = '2026-01-01T00:00:00.000001Z'::timestamptz + (right(id, 1)::int % 2) * interval '1 microsecond'`.execute(
      fixture.db,
    );
    for (const order of ['asc', 'desc'] as const) {
      const whole = (await listed({}, { order })).items.map(({ id }) => id);
      const seen: string[] = [];
      let after: PageRequest['after'];
      do {
        const page = await lists.page(fixture.city, { status: 'all' }, { order, after, limit: 2, tag: '' });
        seen.push(...page!.items.map((json) => (JSON.parse(json) as Message).id));
        after = page!.more;
        if (order === 'desc') await send('deacon');
      } while (after !== undefined);
      expect(seen).toEqual(whole);
    }
  });

  it('ends a page early when its messages are long, and says where it goes on', async () => {
    const body = 'x'.repeat(256 * 1024);
    await sending.broadcast(
      fixture.city,
      { subject: 's', body, to: ['mayor', 'deacon', 'human', 'web/polecat', 'web/witness', 'core/polecat'] },
      undefined,
      ANYBODY,
    );
    await sql`insert into messages select stream_id, id || 'x', rig, thread_id, reply_to, principal, recipient, sender_principal, sender, subject, body from messages`.execute(
      fixture.db,
    );
    const first = await listed();
    expect(first).toMatchObject({ total: 12, more: expect.anything() });
    expect(first.items).toHaveLength(7);
    const rest = await listed({}, { after: first.more as PageRequest['after'] });
    expect(rest).toMatchObject({ total: 12, more: undefined });
    expect(rest.items).toHaveLength(5);
  });

  it('finds text in subjects and bodies, literally', async () => {
    await send('mayor', { subject: 'Deploy 100%', body: 'später' });
    await send('mayor', { subject: 'other', body: 'a_b DEPLOY' });
    expect(await ids({ text: 'deploy' })).toEqual(['al-2', 'al-1']);
    expect(await ids({ text: '100%' })).toEqual(['al-1']);
    expect(await ids({ text: '%' })).toEqual(['al-1']);
    expect(await ids({ text: 'a%b' })).toEqual([]);
  });
});
