import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DEEP } from '../support/depth.js';
import { startStack, type Stack } from '../support/app.js';
import { makeAgents } from '../support/config-examples-agents.js';
import { contract, type DocumentedOperation } from '../support/contract.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { expectRefusal } from '../support/refusal.js';
import { putSession, type StoredSession } from '../support/session-examples.js';
import { eventually, openStream } from '../support/sse.js';
import { watchState, type Witness } from '../support/unchanged.js';
import { fittingBody } from '../support/fitting-body.js';
import { makeWork, workPath, type WorkExamples } from '../support/work-examples.js';

/** Every operation with the token of a session: it reads its city, changes what is its own, and nothing else. */
const { operations } = contract();
const isPublic = (o: DocumentedOperation): boolean => o.definition.security?.length === 0;
const MUTATIONS = operations.filter((o) => o.method !== 'GET' && !isPublic(o));
const READS = operations.filter((o) => o.method === 'GET' && !isPublic(o) && !o.path.endsWith('/stream'));

const bead = 'v0-city-by-city-name-bead-by-id';
const convoy = 'v0-city-by-city-name-convoy-by-id';
const mail = 'v0-city-by-city-name-mail-by-id';
const session = 'v0-city-by-city-name-session-by-id';
/** What the test knows by itself: a line that is added to the product's table without one here fails. */
const ALLOWED = new Set([
  ...['create-bead', 'create-convoy', 'create-wait', 'send-mail', 'reply-mail', 'send-session-message', 'submit-session'],
  ...['claim-from-hook', 'sling-batch', 'cancel-wait', 'land-convoy', 'claim-bead', 'extend-bead-claim', 'release-bead', 'add-bead-labels'],
  ...['replace-bead-labels', 'remove-bead-label', 'add-bead-dependency', 'remove-bead-dependency', 'reset-session', 'drain-session'],
  ...['sling', 'extmsg-outbound', 'extmsg-transcript-ack'].map((name) => `post-v0-city-by-city-name-${name}`),
  ...['update', 'assign', 'close', 'reopen'].map((name) => `post-${bead}-${name}`),
  ...['add', 'remove', 'close'].map((name) => `post-${convoy}-${name}`),
  ...['read', 'mark-unread', 'archive'].map((name) => `post-${mail}-${name}`),
  ...[`patch-${bead}`, `delete-${mail}`, `patch-${session}`, `post-${session}-rename`],
]);

/** Each operation in one of them, or with the deep tests in all. */
const CITIES = ['mine', 'secret', 'absent'];
const citiesFor = (o: DocumentedOperation): readonly string[] => (DEEP ? CITIES : [CITIES[operations.indexOf(o) % CITIES.length]!]);

describe.each(['off', 'keys'] as const)('the token of a session, with SVC_AUTH=%s', (auth) => {
  let stack: Stack;
  let examples: WorkExamples;
  let witness: Witness;
  let mayor: StoredSession;
  let other: StoredSession;
  let root: Api;
  const as = (who: StoredSession, replica = 0): Api => api(stack.urls[replica]!, { Authorization: `Bearer ${who.token}` });
  const target = (o: DocumentedOperation, city: string): string => workPath(o.path, city, examples, o.method);
  const bodyOf = (o: DocumentedOperation): object | undefined => fittingBody(o, examples);

  beforeAll(async () => {
    stack = await startStack({ config: { auth } });
    const key = `svc_${'0'.repeat(12)}_${'k'.repeat(32)}`;
    const hash = createHash('sha256').update(key).digest();
    await adminAt(stack.databaseUrl, `insert into api_keys (id, name, hash, scope) values ('000000000000', 'root', $1, 'write')`, [hash]);
    root = api(stack.urls[0]!, auth === 'keys' ? { Authorization: `Bearer ${key}` } : {});
    for (const dir of ['mine', 'secret']) {
      const accepted = await root.post('/v0/city', { dir, provider: 'loopback' });
      const ended = `/v0/events?payload_match=request_id%3D${accepted.body.request_id}`;
      await eventually(async () => (await root.get(ended)).body.total > 0);
    }
    examples = await makeWork(root, 'mine', stack.databaseUrl);
    await makeAgents(root, 'mine', stack.citiesRoot);
    // From here on nothing happens by itself: what is seen to change was changed by the request.
    await stack.apps.at(-1)!.stop();
    mayor = await putSession(stack.databaseUrl, 'mine', { id: 'mi-900', alias: 'boss' });
    other = await putSession(stack.databaseUrl, 'mine', { id: 'mi-901', agent: '' });
    witness = await watchState(stack);
  });
  afterAll(async () => {
    await witness.close();
    await stack.stop();
  });

  describe('by default', () => {
    it.each(MUTATIONS.filter(({ id }) => !ALLOWED.has(id)).map((o): [string, DocumentedOperation] => [`${o.method} ${o.path}`, o]))(
      '%s is 403',
      async (_name, operation) => {
        for (const city of citiesFor(operation)) {
          const path = target(operation, city);
          const reply = await witness.unchangedBy(() => as(mayor).send(operation.method, path, bodyOf(operation)));
          expectRefusal(reply, path, { status: 403, detail: `forbidden: sessions may not use ${operation.id}` });
        }
      },
    );

    it('what is allowed is allowed in its own city only', async () => {
      for (const operation of MUTATIONS.filter(({ id }) => ALLOWED.has(id))) {
        const ask = async (city: string): Promise<{ status: number; text: string }> => {
          const { status, text } = await witness.unchangedBy(() =>
            as(mayor).send(operation.method, target(operation, city), bodyOf(operation)),
          );
          return { status, text: text.replaceAll(city, 'CITY').replace(/(?<=urn:supervisor:request:)[0-9a-f]+/, 'ID') };
        };
        const [hidden, absent] = [await ask('secret'), await ask('absent')];
        expect({ id: operation.id, ...hidden }).toEqual({ id: operation.id, ...absent });
        expect([403, 404, 422]).toContain(hidden.status);
      }
    });

    it('reads its own city, and no keys, runners or records of who did what', async () => {
      for (const operation of READS) {
        const reply = await as(mayor, 1).get(target(operation, 'mine'));
        const wanted = ['list-keys', 'list-audit', 'list-runners'].includes(operation.id) ? 403 : 200;
        expect({ id: operation.id, status: reply.status }).toEqual({ id: operation.id, status: wanted });
        if (!operation.path.includes('{cityName}'))
          expect({ id: operation.id, leaks: reply.text.includes('secret') }).toMatchObject({ leaks: false });
        else expect([404, 422]).toContain((await as(mayor).get(target(operation, 'secret'))).status);
      }
    });
  });

  describe('as itself', () => {
    let id: string;
    beforeEach(async () => {
      id = (await root.post('/v0/city/mine/beads', { title: 'work' })).body.id;
    });
    const post = (path: string, body: object, who = mayor) => as(who).post(`/v0/city/mine/${path}`, body);
    const refused = async (path: string, body: object, who = mayor): Promise<void> => {
      const reply = await witness.unchangedBy(() => post(path, body, who));
      expectRefusal(reply, `/v0/city/mine/${path}`, { status: 403, detail: 'forbidden: …' });
    };

    it('takes, keeps, gives back and closes work in its own name', async () => {
      await refused(`bead/${id}/claim`, { assignee: 'other' });
      await refused(`bead/${id}/claim`, { assignee: 'mayor', session_id: other.id });
      await refused(`bead/${id}/claim`, {});
      await refused(`bead/${id}/claim`, { assignee: 'mayor', force: true });
      const claim = await post(`bead/${id}/claim`, { assignee: 'mayor', session_id: mayor.id });
      expect(claim.status).toBe(200);
      const { fence } = claim.body as { fence: number };
      await refused(`bead/${id}/heartbeat`, { assignee: 'other', fence });
      expect((await post(`bead/${id}/heartbeat`, { assignee: 'mayor', fence })).status).toBe(200);
      // Somebody else's work in progress is out of reach for the other session.
      await refused(`bead/${id}/close`, {}, other);
      await refused(`bead/${id}/update`, { priority: 1 }, other);
      await refused(`bead/${id}/assign`, { assignee: '' }, other);
      await refused(`bead/${id}/release`, { assignee: 'mayor', fence }, other);
      expect((await post(`bead/${id}/update`, { description: 'x' })).status).toBe(200);
      await refused(`bead/${id}/assign`, { assignee: 'other' });
      expect((await post(`bead/${id}/release`, { assignee: 'mayor', fence })).status).toBe(200);
      expect((await post(`bead/${id}/close`, { reason: 'done' })).status).toBe(200);
      const [event] = (await root.get('/v0/city/mine/events?type=bead.closed&limit=1')).body.items;
      expect(event).toMatchObject({ actor: 'mayor', subject: id });
    });

    it('takes from its own hook', async () => {
      await refused('hook/claim', { agent: 'other' });
      await refused('hook/claim', { agent: 'mayor', aliases: ['mayor', 'other'] });
      await refused('hook/claim', { agent: 'mayor', session: other.id });
      await refused('hook/claim', { agent: ['mayor'] });
      expect((await post('hook/claim', { agent: 'mayor', session: mayor.id, aliases: ['boss'] })).status).toBe(200);
    });

    it("makes beads and slings them, out of nobody's hands", async () => {
      await refused('beads', { title: 'x', assignee: 'other' });
      expect((await post('beads', { title: 'x', assignee: 'mayor' })).status).toBe(201);
      await refused('sling', { target: 'mayor', bead: id, reassign: true });
      await refused('sling', { target: 'mayor', bead: id, force: true });
      expect((await post('sling', { target: 'mayor', bead: id })).status).toBe(200);
    });

    it('writes and reads mail in its own name', async () => {
      await refused('mail', { to: 'human', subject: 's', from: 'human' });
      const sent = await post('mail', { to: 'human', subject: 's', from: 'mayor' });
      expect(sent).toMatchObject({ status: 201, body: { from: 'mayor' } });
      expect((await post('mail', { to: 'human', subject: 's' })).body).toMatchObject({ from: 'mayor' });
      await refused(`mail/${sent.body.id}/read`, {});
      await refused(`mail/${sent.body.id}/reply`, { body: 'x' });
      const { id: message } = (await root.post('/v0/city/mine/mail', { to: 'mayor', subject: 's', from: 'human' })).body as { id: string };
      await refused(`mail/${message}/archive`, {}, other);
      for (const step of ['read', 'mark-unread', 'reply', 'archive'])
        expect({ step, ok: (await post(`mail/${message}/${step}`, step === 'reply' ? {} : (undefined as never))).status < 300 }).toEqual({
          step,
          ok: true,
        });
    });

    it('waits for itself', async () => {
      await refused('waits', { session: 'other', dep_ids: [id] });
      const { body, status } = await post('waits', { session: mayor.id, dep_ids: [id] });
      expect(status).toBe(201);
      await refused(`wait/${body.id}/cancel`, {}, other);
      await refused(`wait/${body.id}/ready`, {});
      expect((await post(`wait/${body.id}/cancel`, {})).status).toBe(200);
    });

    it('changes its own title, and speaks to others in its name', async () => {
      const patch = (id: string, body: object) => as(mayor).patch(`/v0/city/mine/session/${id}`, body);
      expect(await patch(mayor.id, { title: 'mine' })).toMatchObject({ status: 200, body: { title: 'mine' } });
      // Other names may mean another session.
      for (const name of ['boss', 'mayor']) expect((await patch(name, { title: 'x' })).status).toBe(403);
      expect((await patch(mayor.id, { title: 'x', alias: 'x' })).status).toBe(403);
      expect((await patch(other.id, { title: 'x' })).status).toBe(403);
      await refused(`session/${other.id}/drain`, {});
      await refused(`session/${other.id}/reset`, {});
      const sent = await post(`session/${other.id}/submit`, { message: 'hello' });
      expect(sent.status).toBe(202);
      const { items } = (await root.get(`/v0/city/mine/session/${other.id}/messages`)).body;
      expect(items[0]).toMatchObject({ sender: 'mayor' });
      // A session does not answer its own questions.
      await refused(`session/${mayor.id}/respond`, { action: 'approve' });
    });

    it('is known by every name that it has', async () => {
      for (const name of ['mayor', mayor.id, `s-${mayor.id}`, 'boss'])
        expect((await post('beads', { title: 'x', assignee: name })).status).toBe(201);
      await refused('beads', { title: 'x', assignee: 'mayor' }, other);
      await refused('beads', { title: 'x', assignee: 'constructor' });
    });
  });

  describe('is good for one process', () => {
    const column = (sets: string, pk: number): Promise<unknown> =>
      adminAt(stack.databaseUrl, `update sessions set ${sets} where pk = $1`, [pk]);
    let one: StoredSession;
    let n = 0;
    beforeEach(async () => {
      one = await putSession(stack.databaseUrl, 'mine', { id: `mi-95${auth === 'off' ? n++ : ++n}` });
      expect((await as(one).get('/v0/city/mine/beads')).status).toBe(200);
    });
    afterEach(() => adminAt(stack.databaseUrl, 'delete from sessions where pk = $1', [one.pk]));

    it.each([
      ['that is gone', `runner_id = null, live = false, state = 'asleep'`],
      ['of a session that has ended', `runner_id = null, live = false, state = 'closed', closed_at = now()`],
      ['that was replaced', `token_hash = '\\x00', generation = generation + 1`],
    ])('and not for one %s', async (_what, sets) => {
      await column(sets, one.pk);
      for (const replica of [0, 1]) {
        const reply = await as(one, replica).get('/v0/city/mine/beads');
        expectRefusal(reply, '/v0/city/mine/beads', { status: 401, detail: 'unauthorized: the token is not valid: …' });
        expect((await as(one, replica).post('/v0/city/mine/beads', { title: 'x' })).status).toBe(401);
      }
    });

    it.each([
      ['another secret', (token: string) => `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`],
      ['another session', (token: string) => token.replace(/^svs_[0-9a-z]+/, `svs_${mayor.pk.toString(36)}`)],
      ['no number', (token: string) => token.replace(/^svs_[0-9a-z]+/, 'svs_zzzzzzzzzzz')],
      ['no secret', (token: string) => token.slice(0, 8)],
    ])('and not with %s', async (_what, forge) => {
      const reply = await api(stack.urls[0]!).get('/v0/city/mine/beads', { Authorization: `Bearer ${forge(one.token)}` });
      expectRefusal(reply, '/v0/city/mine/beads', { status: 401, detail: 'unauthorized: …' });
    });

    it('and so are its streams, which show its city only', async () => {
      const headers = { Authorization: `Bearer ${one.token}` };
      const stream = await openStream(`${stack.urls[0]}/v0/events/stream`, { headers });
      await root.post('/v0/city/secret/events', { type: 'note.hidden', actor: 'x' });
      await root.post('/v0/city/mine/events', { type: 'note.shown', actor: 'x' });
      await stream.until((f) => f.data?.type === 'note.shown');
      expect(stream.frames.filter((f) => JSON.stringify(f).includes('secret'))).toEqual([]);
      await column(`runner_id = null, live = false, state = 'asleep'`, one.pk);
      await stream.untilEnd();
    });
  });
});
