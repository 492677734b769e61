import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { expectRefusal } from '../support/refusal.js';
import { SessionsCity, StandIn } from '../support/sessions-city.js';
import { eventually } from '../support/sse.js';

let crew: SessionsCity;
beforeAll(async () => {
  crew = await SessionsCity.open();
});
afterAll(() => crew?.close());
afterEach(() => crew?.runner.stop());

const create = (body: object, headers = {}, at = crew.a) => at.post(crew.path('sessions'), body, headers);
const get = (id: string, at = crew.b) => at.get(crew.path(`session/${encodeURIComponent(id)}`));
const patch = (id: string, body: object, at = crew.a) => at.patch(crew.path(`session/${encodeURIComponent(id)}`), body);
const list = (query: string, at = crew.b) => at.get(crew.path(`sessions?${query}`));
const close = (id: string) => crew.a.post(crew.path(`session/${encodeURIComponent(id)}/close`));
const ends = async (id: string): Promise<{ type: string; payload: Record<string, any> }[]> =>
  (await crew.events(id)).filter(({ type }) => type.startsWith('request.'));
const count = async (): Promise<number> => (await list('state=all&limit=1')).body.total as number;

describe('making sessions', () => {
  it('accepts what is checked; the session is there at once', async () => {
    const before = await crew.head();
    const reply = await create({
      kind: 'agent',
      name: 'polecat',
      alias: 'fixer',
      title: 'Fix it',
      project_id: 'p-1',
      options: { permission_mode: 'ask' },
    });
    expect(reply).toMatchObject({ status: 202, body: { status: 'accepted', request_id: expect.stringMatching(/^req-[0-9a-f]{24}$/) } });
    expect(Number(reply.body.event_cursor)).toBe(before);
    const id = reply.body.session_id as string;
    expect(id).toMatch(/^[a-z]+-\d+$/);
    expect((await get(id)).body).toEqual({
      id,
      template: 'web/polecat',
      state: 'start-pending',
      title: 'Fix it',
      provider: 'loopback',
      session_name: `s-${id}`,
      created_at: expect.any(String),
      attached: false,
      running: false,
      kind: 'agent',
      agent_kind: 'pool',
      pool: 'polecat',
      alias: 'web/fixer',
      rig: 'web',
      display_name: expect.any(String),
      options: expect.objectContaining({ permission_mode: 'ask' }),
      metadata: { real_world_app_project_id: 'p-1' },
      submission_capabilities: { supports_follow_up: true, supports_interrupt_now: true },
    });
    expect(await crew.row(id)).toMatchObject({ origin: 'manual', wake_request: 'create', agent: 'web/polecat', created_by: 'api' });
    expect(await crew.kinds(id)).toEqual(['session.created']);
    await close(id);
  });

  it('names a session among many by its agent, a bare provider by itself', async () => {
    const { id } = await crew.make();
    expect((await get(id)).body).toMatchObject({
      session_name: expect.stringMatching(/^polecat-adhoc-[0-9a-f]{10}$/),
      title: 'web/polecat',
    });
    const bare = await crew.make({ kind: 'provider', name: 'loopback', message: 'hello\nyou' });
    expect((await get(bare.id)).body).toMatchObject({
      kind: 'provider',
      template: 'loopback',
      title: 'hello',
      session_name: `s-${bare.id}`,
    });
    expect((await get(bare.id)).body).not.toHaveProperty('agent_kind');
  });

  it.each<[object, number, string | RegExp]>([
    [{ name: 'polecat' }, 400, 'invalid: kind must be "agent" or "provider"'],
    [{ kind: 'pool', name: 'polecat' }, 400, 'invalid: kind must be "agent" or "provider"'],
    [{ kind: 'agent' }, 400, 'invalid: name is required'],
    [{ kind: 'agent', name: 'polecat', session_name: 'x' }, 400, 'invalid: session_name cannot be given; use alias'],
    [{ kind: 'agent', name: 'polecat', alias: 'human/' }, 400, /^invalid: invalid alias/],
    [{ kind: 'agent', name: 'web/clerk', alias: 'human' }, 400, 'invalid: invalid alias: "human" is reserved'],
    [{ kind: 'agent', name: 'web/clerk', alias: 's-x' }, 400, /prefix "s-" is reserved/],
    [{ kind: 'agent', name: 'web/clerk', alias: 'web-12' }, 400, 'invalid: invalid alias: it looks like an id'],
    [{ kind: 'agent', name: 'polecat', options: { nothing: '1' } }, 400, /^invalid: unknown option: nothing/],
    [{ kind: 'agent', name: 'polecat', options: { permission_mode: 'maybe' } }, 400, /^invalid: invalid value for permission_mode: maybe/],
    [{ kind: 'provider', name: 'loopback', async: true, message: 'x' }, 400, /^invalid: async cannot/],
    [{ kind: 'provider', name: 'loopback', async: true }, 400, /^invalid: async is not/],
    [{ kind: 'agent', name: 'nobody' }, 404, 'not_found: agent nobody not found'],
    [{ kind: 'provider', name: 'nothing' }, 404, 'not_found: provider nothing not found'],
    [{ kind: 'agent', name: 'web/clerk', alias: 'deacon' }, 409, 'conflict: the name deacon belongs to a configured named session'],
    [{ kind: 'agent', name: 'polecat', extra: 1 }, 422, /^validation_failed/],
    [{ kind: 'agent', name: 'polecat', options: [] }, 422, /^validation_failed/],
  ])('refuses %j with %i and leaves nothing', async (body, status, detail) => {
    const before = [await count(), await crew.head(), (await crew.sql('select id from operations')).length];
    expectRefusal(await create(body), crew.path('sessions'), { status, detail });
    expect([await count(), await crew.head(), (await crew.sql('select id from operations')).length]).toEqual(before);
  });

  it('refuses what could only wait: a suspended agent, a rig, the city', async () => {
    const refused = async (detail: string): Promise<void> =>
      expectRefusal(await create({ kind: 'agent', name: 'polecat' }), crew.path('sessions'), {
        status: 409,
        detail: `conflict: no session of web/polecat can be started: ${detail}`,
      });
    await crew.a.post(crew.path('agent/web/polecat/suspend'));
    await refused('agent web/polecat is suspended');
    await crew.a.post(crew.path('agent/web/polecat/resume'));
    await crew.a.post(crew.path('rig/web/suspend'));
    await refused('rig web is suspended');
    await crew.a.post(crew.path('rig/web/resume'));
  });

  it('gives an alias to one of many who ask at once, on both replicas', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) => create({ kind: 'agent', name: 'polecat', alias: 'only' }, {}, n % 2 === 0 ? crew.a : crew.b)),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([202, ...Array<number>(7).fill(409)]);
    expect(replies.find(({ status }) => status === 409)!.body.detail).toBe(
      'conflict: the name web/only is already used by another session of this city',
    );
    const id = replies.find(({ status }) => status === 202)!.body.session_id as string;
    expect((await get('web/only')).body.id).toBe(id);
    await close(id);
  });

  it('makes one session of a key, and answers the same again', async () => {
    const body = { kind: 'agent', name: 'polecat', message: 'once' };
    const headers = { 'Idempotency-Key': 'make-once' };
    const before = await count();
    const replies = await Promise.all([crew.a, crew.b, crew.a].map((at) => create(body, headers, at)));
    expect(replies.filter(({ status }) => status === 202).length).toBeGreaterThan(0);
    expect(replies.every(({ status }) => status === 202 || status === 409)).toBe(true);
    const again = await create(body, headers, crew.b);
    for (const reply of replies.filter(({ status }) => status === 202)) expect(again.body).toEqual(reply.body);
    expect(await count()).toBe(before + 1);
    expect((await crew.sql('select id from session_messages where request_id = $1', [again.body.request_id])).length).toBe(1);
    expectRefusal(await create({ ...body, message: 'twice' }, headers), crew.path('sessions'), {
      status: 422,
      detail: /^idempotency_mismatch/,
    });
  });
});

describe('how making a session ends', () => {
  it('when it is ready: with the session as it is then', async () => {
    const { id, requestId } = await crew.make({ alias: 'ready' });
    await crew.runner.start(id);
    const [end, ...more] = await ends(id);
    expect(more).toEqual([]);
    expect(end).toMatchObject({ type: 'request.result.session.create', payload: { request_id: requestId } });
    expect(end!.payload.session).toEqual((await get(id)).body);
    expect(end!.payload.session).toMatchObject({ state: 'active', running: true, activity: 'idle', alias: 'web/ready' });
    expect(await crew.kinds(id)).toEqual(['session.created', 'session.starting', 'session.woke', 'request.result.session.create']);
  });

  it('with a message: when that is delivered, and not before', async () => {
    const { id, requestId } = await crew.make({ message: 'hello' });
    await crew.runner.start(id);
    expect(await ends(id)).toEqual([]);
    expect(await crew.sql('select source, body, status, request_id from session_messages where request_id = $1', [requestId])).toEqual([
      { source: 'create', body: 'hello', status: 'queued', request_id: requestId },
    ]);
    await crew.runner.deliver(id);
    expect(await ends(id)).toMatchObject([{ type: 'request.result.session.create', payload: { request_id: requestId, session: { id } } }]);
    crew.runner.serve();
    await close(id);
    expect(await ends(id)).toHaveLength(1);
  });

  it.each<[string, (id: string) => Promise<unknown>, RegExp]>([
    ['closed', (id) => close(id), /is closed \(operator\)/],
    [
      'failed',
      (id) =>
        crew.runner.within(id, async (changes, row) => {
          const starting = await changes.move(row, 'start', { set: { runner_id: StandIn.id, generation: 1, wake_request: null } });
          await changes.move(starting, 'fail_start', { reason: 'auth-required', set: { runner_id: null } });
        }),
      /is failed-create \(auth-required\)/,
    ],
    [
      'stopped while it started',
      async (id) => {
        await crew.runner.start(id, false);
        crew.runner.serve();
        await crew.a.post(crew.path(`session/${id}/kill`));
      },
      /was stopped before it was ready/,
    ],
  ])('%s: failed, once, with or without a message', async (_what, happens, why) => {
    for (const body of [{}, { message: 'hello' }]) {
      const { id, requestId } = await crew.make(body);
      await happens(id);
      expect(await ends(id)).toMatchObject([
        {
          type: 'request.failed',
          payload: {
            request_id: requestId,
            operation: 'session.create',
            error_code: 'create_failed',
            error_message: expect.stringMatching(why),
          },
        },
      ]);
      await close(id);
      expect(await ends(id)).toHaveLength(1);
    }
  });

  it('a start that is tried again is not its end', async () => {
    const { id } = await crew.make();
    await crew.runner.start(id, false);
    await crew.runner.within(id, (changes, row) =>
      changes.move(row, 'sleep', { reason: 'crashed', set: { runner_id: null, wake_request: 'create', wake_requested_at: new Date() } }),
    );
    expect(await ends(id)).toEqual([]);
    await crew.runner.start(id);
    expect(await ends(id)).toMatchObject([{ type: 'request.result.session.create' }]);
  });

  it('ready and closed at once: one end', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await crew.make();
      await crew.runner.start(id, false);
      const ready = crew.runner.within(id, async (changes, row) => {
        if (row.state === 'creating') await changes.move(row, 'ready', { set: { live: true, ready_at: new Date() } });
      });
      crew.runner.serve();
      const [closed] = await Promise.all([close(id), ready]);
      expect(closed.status).toBe(200);
      await crew.runner.stop();
      expect(await ends(id)).toHaveLength(1);
    }
  });
});

describe('configured named sessions', () => {
  const wake = (name: string, at = crew.a) => at.post(crew.path(`session/${encodeURIComponent(name)}/wake`));

  it('are made by those requests that may make them, and by no other', async () => {
    for (const [method, rest] of [
      ['GET', ''],
      ['PATCH', ''],
      ['POST', '/rename'],
      ['POST', '/stop'],
      ['POST', '/kill'],
      ['POST', '/close'],
      ['POST', '/permission-mode'],
      ['GET', '/pending'],
    ] as const) {
      const bodies: Record<string, object | undefined> = {
        PATCH: { title: 'x' },
        '/rename': { title: 'x' },
        '/permission-mode': { permission_mode: 'ask' },
      };
      const body = bodies[rest === '' ? method : rest];
      const reply = await crew.a.send(method, crew.path(`session/deacon${rest}`), body);
      expect({ method, rest, status: reply.status }).toEqual({ method, rest, status: 404 });
    }
    expect((await crew.sql(`select id from sessions where named_identity = 'deacon'`)).length).toBe(0);
    const reply = await crew.a.post(crew.path('session/deacon/messages'), { message: 'hello' });
    expect(reply.status).toBe(202);
    expect((await get('deacon')).body).toMatchObject({
      alias: 'deacon',
      session_name: 'deacon',
      template: 'clerk',
      title: 'deacon',
      configured_named_session: true,
      state: 'start-pending',
    });
    expect((await crew.sql(`select origin, agent_name, wake_request from sessions where named_identity = 'deacon'`))[0]).toEqual({
      origin: 'named',
      agent_name: 'deacon',
      wake_request: expect.stringMatching(/named|message/),
    });
  });

  it('are made once, whoever asks at the same time, and once more after each end', async () => {
    for (let round = 0; round < 3; round++) {
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, n) => wake(n % 3 === 0 ? 'scribe' : 'web/scribe', n % 2 === 0 ? crew.a : crew.b)),
      );
      expect([...new Set(replies.map(({ status }) => status))]).toEqual([200]);
      expect(new Set(replies.map(({ body }) => body.id as string)).size).toBe(1);
      const id = replies[0]!.body.id as string;
      expect((await crew.kinds(id)).filter((type) => type === 'session.created')).toHaveLength(1);
      expect(await close(id)).toMatchObject({ status: 200 });
      expect((await get('web/scribe')).status).toBe(404);
    }
    expect((await crew.sql(`select id from sessions where named_identity = 'web/scribe'`)).length).toBe(3);
  });

  it('without the reservation the second who asks would be refused', async () => {
    expect(await crew.makeTwiceUnguarded('web/twin')).toEqual(['fulfilled', 'rejected']);
    await close('web/twin');
  });

  it('suspended before they ever ran: parked, not started', async () => {
    expect(await crew.a.post(crew.path('session/docs%2Ftwin/suspend'))).toMatchObject({ status: 200 });
    const { id, state, reason } = (await get('docs/twin')).body;
    expect([state, reason]).toEqual(['suspended', 'user-hold']);
    expect(await crew.row(id)).toMatchObject({ wake_request: null, generation: '0' });
    expect(await wake('docs/twin')).toMatchObject({ status: 200, body: { id, decision: 'wanted' } });
  });

  it('are not made where they could not start', async () => {
    await crew.a.post(crew.path('agent/web/clerk/suspend'));
    expectRefusal(await wake('web/scribe'), crew.path('session/web%2Fscribe/wake'), {
      status: 409,
      detail: 'conflict: session web/scribe cannot be started: agent web/clerk is suspended',
    });
    await crew.a.post(crew.path('agent/web/clerk/resume'));
    expect((await get('web/scribe')).status).toBe(404);
  });

  it('replace a predecessor that cannot go on, and go on with one that can', async () => {
    const { id } = (await wake('web/scribe')).body;
    await crew.put(id, { state: 'archived', wake_request: null, continuity_eligible: true });
    expect((await wake('web/scribe')).body).toMatchObject({ id });
    await crew.put(id, { state: 'archived', wake_request: null, continuity_eligible: false });
    const next = (await wake('web/scribe')).body.id as string;
    expect(next).not.toBe(id);
    expect((await get('web/scribe')).body.id).toBe(next);
    await close(id);
    expect((await get('web/scribe')).body.id).toBe(next);
    await close(next);
  });

  it('say whose name they find in use', async () => {
    const { id } = await crew.make();
    await crew.sql(`update session_names set session_pk = (select pk from sessions where id = $1) where name = 'web/scribe'`, [id]);
    for (const reply of [await wake('web/scribe'), await get('web/scribe')])
      expectRefusal(reply, 'session/web/scribe', {
        status: 409,
        detail: `conflict: the configured name web/scribe is in use by session ${id}`,
      });
    await close(id);
    expect((await wake('web/scribe')).status).toBe(200);
    await close('web/scribe');
  });
});

describe('changing sessions', () => {
  it('title and alias, with one event, and none for what stays', async () => {
    const { id } = await crew.make({ alias: 'first', title: 'old' });
    expect(await patch(id, { title: 'new', alias: 'second' })).toMatchObject({ status: 200, body: { title: 'new', alias: 'second' } });
    expect(await patch(id, { title: 'new', alias: 'second' })).toMatchObject({ status: 200 });
    expect((await crew.events(id)).slice(1).map(({ type, message, actor }) => [type, message, actor])).toEqual([
      ['session.updated', 'title, alias changed', 'api'],
    ]);
    expect(await crew.row(id)).toMatchObject({ past_aliases: ['web/first'] });
    expect((await get('web/first')).status).toBe(404);
    const other = await crew.make({ alias: 'first' });
    expect(await patch(id, { alias: '' })).toMatchObject({ status: 200 });
    expect((await get(id)).body).not.toHaveProperty('alias');
    expect(await crew.a.post(crew.path(`session/${id}/rename`), { title: 'third' })).toMatchObject({
      status: 200,
      body: { title: 'third' },
    });
    await Promise.all([close(id), close(other.id)]);
  });

  it.each<[object, number, string | RegExp]>([
    [{}, 422, "validation_failed: at least one of 'title' or 'alias' is required"],
    [{ title: '' }, 422, /^validation_failed/],
    [{ title: '  ' }, 422, /^validation_failed/],
    [{ title: 'x', state: 'active' }, 422, /^validation_failed/],
    [{ alias: 'a b' }, 400, /^invalid: invalid alias/],
    [{ alias: 'deacon' }, 409, 'conflict: the name deacon belongs to a configured named session'],
    [{ title: 'changed', alias: 'taken' }, 409, 'conflict: the name taken is already used by another session of this city'],
  ])('%j is refused with %i, and nothing changes', async (body, status, detail) => {
    const holder = await crew.make();
    await patch(holder.id, { alias: 'taken' });
    const { id } = await crew.make({ title: 'kept', alias: 'kept' });
    const before = await crew.row(id);
    expectRefusal(await patch(id, body), crew.path(`session/${id}`), { status, detail });
    expect(await crew.row(id)).toEqual(before);
    expect((await get('web/kept')).body.id).toBe(id);
    await Promise.all([close(id), close(holder.id)]);
  });

  it('the alias of a pool member and of a configured session are not theirs to change', async () => {
    const { id } = await crew.make();
    await crew.put(id, { origin: 'pool', slot: 1 });
    expectRefusal(await patch(id, { alias: 'mine' }), crew.path(`session/${id}`), {
      status: 403,
      detail: 'forbidden: alias is controller-managed for this session',
    });
    expect(await patch(id, { title: 'mine' })).toMatchObject({ status: 200 });
    await crew.a.post(crew.path('session/web%2Fscribe/wake'));
    expectRefusal(await patch('web/scribe', { alias: 'mine' }), crew.path('session/web%2Fscribe'), {
      status: 409,
      detail: /^conflict: the alias of web\/scribe/,
    });
    await close('web/scribe');
  });

  it('two sessions that want one alias at once: one has it', async () => {
    const made = await Promise.all(Array.from({ length: 6 }, () => crew.make()));
    const replies = await Promise.all(made.map(({ id }, n) => patch(id, { alias: 'prize' }, n % 2 === 0 ? crew.a : crew.b)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
    expect((await crew.sql(`select id from sessions where alias = 'prize'`)).length).toBe(1);
    await Promise.all(made.map(({ id }) => close(id)));
  });
});

describe('the permission mode', () => {
  const mode = (id: string, permission_mode: string) => crew.a.post(crew.path(`session/${id}/permission-mode`), { permission_mode });

  it('is stored for the next start where nothing runs', async () => {
    const { id } = await crew.make();
    expect(await mode(id, 'deny')).toMatchObject({ status: 200, body: { id, applied: 'stored', options: { permission_mode: 'deny' } } });
    expectRefusal(await mode(id, 'perhaps'), crew.path(`session/${id}/permission-mode`), {
      status: 400,
      detail: /^invalid: invalid value for permission_mode: perhaps \(accepted: /,
    });
    expectRefusal(await mode(id, ' '), crew.path(`session/${id}/permission-mode`), { status: 422, detail: /^validation_failed/ });
    expect((await get(id)).body.options.permission_mode).toBe('deny');
  });

  it('is refused while a process goes on with another one', async () => {
    const { id } = await crew.make();
    for (const state of ['creating', 'active', 'draining']) {
      await crew.putState(id, state);
      expectRefusal(await mode(id, 'deny'), crew.path(`session/${id}/permission-mode`), {
        status: 409,
        detail: /^conflict: session .* is running; /,
      });
    }
    await crew.putState(id, 'closed');
    expectRefusal(await mode(id, 'deny'), crew.path(`session/${id}/permission-mode`), {
      status: 409,
      detail: `conflict: session ${id} is closed`,
    });
    expect(await crew.row(id)).toMatchObject({ options: {} });
  });

  it('is set on the live agent where that offers it', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    const offered = [{ key: 'permission_mode', current: 'ask', choices: [{ value: 'ask' }, { value: 'yolo' }] }];
    await crew.put(id, { option_schema: JSON.stringify(offered) });
    expectRefusal(await mode(id, 'deny'), crew.path(`session/${id}/permission-mode`), { status: 400, detail: /accepted: ask, yolo\)$/ });
    crew.runner.serve();
    expect(await mode(id, 'yolo')).toMatchObject({ status: 200, body: { applied: 'live' } });
    expect(
      await crew.sql('select c.kind, c.body from session_commands c join sessions s on s.pk = c.session_pk where s.id = $1', [id]),
    ).toEqual([{ kind: 'set_option', body: { key: 'permission_mode', value: 'yolo' } }]);
    await crew.runner.stop();
    crew.runner.serve({ command: 'no such mode' });
    expectRefusal(await mode(id, 'yolo'), crew.path(`session/${id}/permission-mode`), {
      status: 409,
      detail: `conflict: session ${id}: no such mode`,
    });
    await crew.runner.stop();
    const asking = mode(id, 'yolo');
    await eventually(async () => (await crew.sql(`select 1 from session_commands where status = 'waiting'`)).length === 1);
    await crew.put(id, { generation: 9 });
    expectRefusal(await asking, crew.path(`session/${id}/permission-mode`), {
      status: 409,
      detail: /ended meanwhile; nothing was changed$/,
    });
    await crew.put(id, { state: 'asleep', live: false, runner_id: null, template: 'web/gone' });
    expectRefusal(await mode(id, 'ask'), crew.path(`session/${id}/permission-mode`), {
      status: 409,
      detail: 'conflict: agent web/gone is not configured any more',
    });
  });
});
