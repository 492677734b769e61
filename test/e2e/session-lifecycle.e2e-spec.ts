import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { expectRefusal } from '../support/refusal.js';
import { patience, SESSION_STATES, SessionsCity, StandIn, type SessionState } from '../support/sessions-city.js';
import { eventually } from '../support/sse.js';

let crew: SessionsCity;
beforeAll(async () => {
  crew = await SessionsCity.open();
});
afterAll(() => crew?.close());
afterEach(() => crew?.runner.stop());

const verb = (id: string, name: string, at = crew.a) => at.post(crew.path(`session/${encodeURIComponent(id)}/${name}`));
const told = async (id: string, after: number): Promise<string[]> => (await crew.events(id)).slice(after).map(({ type }) => type);

/** What each verb answers, and the state it leaves, of a session in each state. */
const CELLS: Record<string, Record<SessionState, readonly [number, SessionState]>> = {
  wake: {
    'start-pending': [200, 'start-pending'],
    creating: [200, 'creating'],
    active: [200, 'active'],
    asleep: [200, 'asleep'],
    suspended: [200, 'asleep'],
    draining: [200, 'active'],
    archived: [200, 'asleep'],
    quarantined: [200, 'asleep'],
    'failed-create': [200, 'asleep'],
    closed: [409, 'closed'],
  },
  suspend: {
    'start-pending': [409, 'start-pending'],
    creating: [409, 'creating'],
    active: [200, 'suspended'],
    asleep: [200, 'suspended'],
    suspended: [200, 'suspended'],
    draining: [409, 'draining'],
    archived: [409, 'archived'],
    quarantined: [200, 'suspended'],
    'failed-create': [200, 'suspended'],
    closed: [409, 'closed'],
  },
  stop: {
    'start-pending': [200, 'start-pending'],
    creating: [200, 'creating'],
    active: [200, 'active'],
    asleep: [200, 'asleep'],
    suspended: [200, 'suspended'],
    draining: [200, 'draining'],
    archived: [200, 'archived'],
    quarantined: [200, 'quarantined'],
    'failed-create': [200, 'failed-create'],
    closed: [409, 'closed'],
  },
  kill: {
    'start-pending': [200, 'start-pending'],
    creating: [200, 'asleep'],
    active: [200, 'asleep'],
    asleep: [200, 'asleep'],
    suspended: [200, 'suspended'],
    draining: [200, 'asleep'],
    archived: [200, 'archived'],
    quarantined: [200, 'quarantined'],
    'failed-create': [200, 'failed-create'],
    closed: [200, 'closed'],
  },
  reset: {
    'start-pending': [200, 'start-pending'],
    creating: [200, 'asleep'],
    active: [200, 'asleep'],
    asleep: [200, 'asleep'],
    suspended: [200, 'suspended'],
    draining: [200, 'asleep'],
    archived: [200, 'archived'],
    quarantined: [200, 'asleep'],
    'failed-create': [200, 'asleep'],
    closed: [409, 'closed'],
  },
  close: Object.fromEntries(SESSION_STATES.map((state) => [state, [200, 'closed']])) as unknown as Record<
    SessionState,
    [number, SessionState]
  >,
};

const cells = Object.entries(CELLS).flatMap(([name, states]) =>
  SESSION_STATES.map((state) => [name, state, ...states[state]] as [string, SessionState, number, SessionState]),
);

describe('every verb in every state', () => {
  it.each(cells)('%s while %s: %i, then %s', async (name, state, status, to) => {
    const { id } = await crew.make();
    await crew.putState(id, state);
    const before = await crew.row(id);
    const events = await crew.events(id);
    crew.runner.serve();
    const reply = await verb(id, name);
    expect({ status: reply.status, text: reply.text }).toMatchObject({ status });
    const after = await crew.row(id);
    expect(after.state).toBe(to);
    if (status === 409) {
      expect(['session-conflict', 'conflict-wrong-state']).toContain(reply.body.code);
      expect(after).toEqual(before);
      expect(await crew.events(id)).toEqual(events);
    } else expect(reply.body.status).toBe('ok');
    if (to !== state) expect((await crew.events(id)).length).toBeGreaterThan(events.length);
    expect((await crew.a.get(crew.path(`session/${id}`))).body.state).toBe(to);
  });

  it.each(['wake', 'suspend', 'stop', 'kill', 'reset', 'drain', 'close'])('%s of nobody', async (name) => {
    expectRefusal(await verb('nobody', name), crew.path(`session/nobody/${name}`), { status: 404, detail: /^not_found: session / });
  });

  it('drain by the clock of the database: one of an api that is behind would end the turn at once', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now - 3_600_000);
    try {
      expect(await verb(id, 'drain')).toMatchObject({ status: 200 });
    } finally {
      clock.mockRestore();
    }
    // Its agent has 90 s.
    const left = 'extract(epoch from stop_deadline - clock_timestamp()) between 0 and 90 as in_time';
    expect(await crew.sql(`select ${left} from sessions where id = $1`, [id])).toEqual([{ in_time: true }]);
  });

  it('drain: of what runs, and of what does not run nothing', async () => {
    const { id } = await crew.make();
    for (const [state, status, to] of [
      ['start-pending', 409, 'start-pending'],
      ['creating', 409, 'creating'],
      ['asleep', 200, 'asleep'],
      ['suspended', 200, 'suspended'],
      ['quarantined', 200, 'quarantined'],
      ['active', 200, 'draining'],
    ] as const) {
      await crew.putState(id, state);
      expect({ state, status: (await verb(id, 'drain')).status, to: (await crew.row(id)).state }).toEqual({ state, status, to });
    }
    const row = await crew.row(id);
    expect(row).toMatchObject({ stop_request: 'drain', stop_reason: 'drained', reason: 'drained' });
    expect((row.stop_deadline as Date).getTime() - Date.now()).toBeGreaterThan(60_000);
    expect((row.stop_deadline as Date).getTime() - Date.now()).toBeLessThan(95_000);
    expect(await verb(id, 'drain')).toMatchObject({ status: 200 });
    expect(await verb(id, 'wake')).toMatchObject({ status: 200, body: { decision: 'awake' } });
    expect(await crew.row(id)).toMatchObject({ state: 'active', stop_request: null, stop_deadline: null });
  });
});

describe('a circuit that is open', () => {
  const open = async (id: string): Promise<void> => {
    const until = new Date(Date.now() + 600_000);
    await crew.putState(id, 'quarantined');
    await crew.put(id, { reason: 'circuit-open', circuit_until: until, quarantined_until: until, restarts: [new Date(), new Date()] });
  };
  const closed = { state: 'asleep', reason: null, circuit_until: null, quarantined_until: null, restarts: [] };

  it('is told, keeps a session from being woken and sent messages, and is closed by force or with a fresh conversation', async () => {
    const { id } = await crew.make();
    await open(id);
    const { body } = await crew.b.get(crew.path(`session/${id}`));
    expect(body).toMatchObject({ state: 'quarantined', reason: 'circuit-open', circuit: { restarts: 2, open_until: expect.any(String) } });
    expectRefusal(await verb(id, 'wake'), crew.path(`session/${id}/wake`), {
      status: 409,
      detail:
        /^conflict: session \S+ cannot be started: circuit-open until \S+: its process has ended 2 times .*; reset it, or wake it with force$/,
    });
    expectRefusal(await crew.a.post(crew.path(`session/${id}/messages`), { message: 'hello' }), crew.path(`session/${id}/messages`), {
      status: 409,
      detail: /takes no messages: circuit-open until /,
    });
    // Parked and woken, it is open all the same.
    expect((await verb(id, 'suspend')).status).toBe(200);
    expect((await verb(id, 'wake')).status).toBe(409);
    expect(await verb(id, 'wake?force=true')).toMatchObject({ status: 200, body: { decision: 'wanted' } });
    expect(await crew.row(id)).toMatchObject({ ...closed, wake_request: 'explicit', reset_pending: false });
    await open(id);
    expect((await verb(id, 'reset')).status).toBe(200);
    expect(await crew.row(id)).toMatchObject({ ...closed, reset_pending: true });
    await open(id);
    await verb(id, 'suspend');
    expect((await verb(id, 'reset')).status).toBe(200);
    expect(await crew.row(id)).toMatchObject({ ...closed, state: 'suspended', reason: 'user-hold', reset_pending: true });
    expect((await verb(id, 'wake')).status).toBe(200);
    await verb(id, 'close');
  });
});

describe('waking', () => {
  it('forgets what had kept it asleep, and wants it once', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'quarantined');
    const later = new Date(Date.now() + 600_000);
    const bad = {
      quarantined_until: later,
      held_until: later,
      not_before: later,
      failed_starts: 4,
      churns: 2,
      crashes: [new Date()],
      reason: 'quarantine',
    };
    await crew.put(id, bad);
    const events = (await crew.events(id)).length;
    const answers = await Promise.all([verb(id, 'wake'), verb(id, 'wake', crew.b), verb(id, 'wake')]);
    expect(answers.map(({ status, body }) => [status, body])).toEqual(Array(3).fill([200, { status: 'ok', id, decision: 'wanted' }]));
    expect(await crew.row(id)).toMatchObject({
      state: 'asleep',
      wake_request: 'explicit',
      quarantined_until: null,
      held_until: null,
      not_before: null,
      failed_starts: 0,
      churns: 0,
      crashes: [],
      reason: null,
    });
    expect(await told(id, events)).toEqual(['session.wake_requested']);
  });

  it('tells the wish also of a session that only sleeps', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'asleep');
    const events = (await crew.events(id)).length;
    await verb(id, 'wake');
    await verb(id, 'wake');
    expect(await told(id, events)).toEqual(['session.wake_requested']);
  });

  it('is refused where nothing would start, and says what blocks it', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'asleep');
    const refused = async (detail: string): Promise<void> => {
      const before = await crew.row(id);
      expectRefusal(await verb(id, 'wake'), crew.path(`session/${id}/wake`), {
        status: 409,
        detail: `conflict: session ${id} cannot be started: ${detail}`,
      });
      expect(await crew.row(id)).toEqual(before);
    };
    await crew.a.post(crew.path('agent/web/polecat/suspend'));
    await refused('agent web/polecat is suspended');
    await crew.a.post(crew.path('agent/web/polecat/resume'));
    await crew.a.patch('/v0/city/crew', { suspended: true });
    await refused('the city is suspended');
    await crew.a.patch('/v0/city/crew', { suspended: false });
    await crew.put(id, { template: 'web/gone', agent: 'web/gone' });
    await refused('agent web/gone is not configured any more');
    await crew.put(id, { template: 'web/polecat', agent: 'web/polecat', stop_request: 'close', runner_id: StandIn.id });
    expectRefusal(await verb(id, 'wake'), crew.path(`session/${id}/wake`), {
      status: 409,
      detail: `conflict: session ${id} is being closed`,
    });
    await crew.put(id, { stop_request: null, runner_id: null, state: 'archived', continuity_eligible: false });
    expectRefusal(await verb(id, 'wake'), crew.path(`session/${id}/wake`), {
      status: 409,
      detail: `conflict: session ${id} is archived and cannot go on`,
    });
  });

  it('is not lost where a stop is under way that cannot be taken back', async () => {
    for (const request of ['kill', 'handover', 'reset']) {
      const { id } = await crew.make();
      await crew.putState(id, 'active');
      await crew.put(id, { stop_request: request, stop_requested_at: new Date() });
      expect((await verb(id, 'wake')).body.decision).toBe('after_stop');
      expect(await crew.row(id)).toMatchObject({ state: 'active', stop_request: request, wake_request: 'explicit' });
    }
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    await crew.put(id, { stop_request: 'sleep', stop_requested_at: new Date() });
    expect((await verb(id, 'wake')).body.decision).toBe('awake');
    expect(await crew.row(id)).toMatchObject({ stop_request: null, wake_request: null });
  });

  it('of a suspended session whose process still ends: startable once it has', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    const suspending = verb(id, 'suspend');
    expect(await crew.runner.asked(id)).toBe('suspend');
    expect((await verb(id, 'wake', crew.b)).body.decision).toBe('after_stop');
    expect(await crew.row(id)).toMatchObject({ state: 'asleep', wake_request: 'explicit', runner_id: StandIn.id });
    crew.runner.serve();
    expect(await suspending).toMatchObject({ status: 200 });
    expect(await crew.row(id)).toMatchObject({ state: 'asleep', wake_request: 'explicit', runner_id: null, stop_request: null });
  });

  it('cancels the waits of the session and takes their notes back', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'asleep');
    const bead = (await crew.a.post(crew.path('beads'), { title: 'thing' })).body.id as string;
    const wait = (await crew.a.post(crew.path('waits'), { session: id, dep_ids: [bead] })).body;
    const [{ pk }] = (await crew.sql<{ pk: string }>('select pk from sessions where id = $1', [id])) as [{ pk: string }];
    await crew.sql(
      `insert into session_messages (stream_id, session_pk, id, intent, body, source, reference, sender) values ($1, $2, 'msg-note', 'default', 'x', 'wait', 'w', 'gate')`,
      [crew.city.streamId, pk],
    );
    await verb(id, 'wake');
    expect((await crew.a.get(crew.path(`wait/${wait.id}`))).body.state).toBe('canceled');
    expect(await crew.sql('select status from session_messages where id = $1', ['msg-note'])).toEqual([{ status: 'cancelled' }]);
  });
});

describe('stopping a live session', () => {
  it.each([
    ['suspend', 'suspend', { state: 'suspended', reason: 'user-hold', wake_request: null }],
    ['kill', 'kill', { state: 'asleep', reason: 'killed' }],
    ['reset', 'reset', { state: 'asleep', reset_pending: true, wake_request: 'reset' }],
    ['close', 'close', { state: 'closed', close_code: 'operator' }],
  ])('%s answers once the runner has confirmed it', async (name, request, wanted) => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    let answered = false;
    const asking = verb(id, name).then((reply) => {
      answered = true;
      return reply;
    });
    expect(await crew.runner.asked(id)).toBe(request);
    expect(answered).toBe(false);
    expect(await crew.row(id)).toMatchObject({ runner_id: StandIn.id, live: true });
    crew.runner.serve();
    expect(await asking).toMatchObject({ status: 200 });
    expect(await crew.row(id)).toMatchObject({ ...wanted, runner_id: null, live: false, stop_request: null });
  });

  it('a reset that another stop overtakes still gives it a fresh conversation', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    const resetting = verb(id, 'reset');
    expect(await crew.runner.asked(id)).toBe('reset');
    const suspending = verb(id, 'suspend', crew.b);
    await eventually(async () => (await crew.row(id)).stop_request === 'suspend');
    crew.runner.serve();
    expect([(await resetting).status, (await suspending).status]).toEqual([200, 200]);
    expect(await crew.row(id)).toMatchObject({ state: 'suspended', runner_id: null, reset_pending: true });
  });

  it('a reset of one whose old process still ends, although it sleeps already', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    const suspending = verb(id, 'suspend');
    expect(await crew.runner.asked(id)).toBe('suspend');
    expect((await verb(id, 'wake', crew.b)).status).toBe(200);
    const resetting = verb(id, 'reset');
    await eventually(async () => (await crew.row(id)).stop_request === 'reset');
    // What its runner finds: there is nothing more to settle than the process.
    await crew.put(id, { stop_request: null, runner_id: null, live: false });
    expect([(await suspending).status, (await resetting).status]).toEqual([200, 200]);
    expect(await crew.row(id)).toMatchObject({ state: 'asleep', reset_pending: true, wake_request: 'explicit' });
  });

  it('a stronger wish replaces a weaker one, and none is lost', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    const asked: Promise<unknown>[] = [];
    for (const [name, wish] of [
      ['drain', 'drain'],
      ['kill', 'kill'],
      ['reset', 'reset'],
      ['close', 'close'],
      ['kill', 'close'],
    ] as const) {
      asked.push(verb(id, name));
      await eventually(async () => (await crew.row(id)).stop_request === wish);
    }
    expectRefusal(await verb(id, 'suspend'), crew.path(`session/${id}/suspend`), {
      status: 409,
      detail: `conflict: session ${id} is being closed`,
    });
    crew.runner.serve();
    expect((await Promise.all(asked)).map((reply) => (reply as { status: number }).status)).toEqual([200, 200, 200, 200, 200]);
    expect(await crew.row(id)).toMatchObject({ state: 'closed' });
  });

  it('without confirmation: 503, and the wish stays', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    const timings = patience(crew.stack, { confirmMs: 200, interruptMs: 200 });
    try {
      for (const name of ['kill', 'suspend', 'close'])
        expectRefusal(await verb(id, name), crew.path(`session/${id}/${name}`), {
          status: 503,
          detail: `unavailable: the process of session ${id} has not ended yet; what was asked for stands, and goes on`,
        });
      expect(await crew.row(id)).toMatchObject({ stop_request: 'close', runner_id: StandIn.id });
      const { id: other } = await crew.make();
      await crew.putState(other, 'active');
      expectRefusal(await verb(other, 'stop'), crew.path(`session/${other}/stop`), {
        status: 503,
        detail: /^unavailable: .*has not ended yet/,
      });
    } finally {
      timings();
    }
    crew.runner.serve();
    await eventually(async () => (await crew.row(id)).state === 'closed');
  });

  it('stop interrupts the process that is there, and no other', async () => {
    const { id } = await crew.make();
    await crew.putState(id, 'active');
    await crew.put(id, { generation: 4 });
    const asking = verb(id, 'stop');
    const commands = () =>
      crew.sql<{ generation: string; kind: string; status: string }>(
        'select c.generation, c.kind, c.status from session_commands c join sessions s on s.pk = c.session_pk where s.id = $1',
        [id],
      );
    await eventually(async () => (await commands()).length === 1);
    expect(await commands()).toEqual([{ generation: '4', kind: 'interrupt', status: 'waiting' }]);
    // The process dies instead: its turn has ended, too.
    await crew.put(id, { generation: 5 });
    expect(await asking).toMatchObject({ status: 200, body: { status: 'ok', id } });
    crew.runner.serve({ command: 'the agent goes on with its turn' });
    expectRefusal(await verb(id, 'stop'), crew.path(`session/${id}/stop`), { status: 503, detail: /the agent goes on with its turn/ });
  });
});

describe('closing', () => {
  it('gives names and work back, fails what waits, and can be repeated', async () => {
    const { id } = await crew.make({ alias: 'porter', message: 'hello' });
    const bead = (await crew.a.post(crew.path('beads'), { title: 'task' })).body.id as string;
    await crew.sql(
      `update beads set status = 'in_progress', assignee = 'web/polecat', metadata = jsonb_build_object('gc.session_id', $2::text) where id = $1`,
      [bead, id],
    );
    const answers = await Promise.all([verb('web/porter', 'close'), verb(id, 'close', crew.b)]);
    expect(answers.map(({ status }) => status).sort((x, y) => x - y)[0]).toBe(200);
    expect(await verb(id, 'close')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect((await crew.kinds(id)).filter((type) => type === 'session.closed')).toHaveLength(1);
    expect((await crew.a.get(crew.path(`bead/${bead}`))).body).toMatchObject({ status: 'open' });
    const body = (await crew.b.get(crew.path(`session/${id}`))).body;
    expect(body).toMatchObject({ state: 'closed', running: false, alias: 'web/porter' });
    for (const member of ['reason', 'metadata', 'submission_capabilities', 'configured_named_session'])
      expect(body).not.toHaveProperty(member);
    const again = await crew.make({ alias: 'porter' });
    expect((await crew.a.get(crew.path('session/web%2Fporter'))).body.id).toBe(again.id);
    await verb(again.id, 'close');
  });

  it('deletes the record when asked to, also of one that was closed before', async () => {
    const { id } = await crew.make();
    expect(await crew.a.post(crew.path(`session/${id}/close?delete=true`))).toMatchObject({ status: 200 });
    expect(await crew.a.get(crew.path(`session/${id}`))).toMatchObject({ status: 404 });
    const other = await crew.make();
    await verb(other.id, 'close');
    const both = await Promise.all([crew.a, crew.b].map((at) => at.post(crew.path(`session/${other.id}/close?delete=1`))));
    expect(both.map(({ status }) => status).every((status) => status === 200 || status === 404)).toBe(true);
    expect(await crew.a.get(crew.path(`session/${other.id}`))).toMatchObject({ status: 404 });
  });

  it('refuses to end what the configuration would only make again', async () => {
    await verb('web/guard', 'wake');
    const detail = /^conflict: web\/guard: configured always-on named sessions cannot be closed/;
    expectRefusal(await verb('web/guard', 'close'), crew.path('session/web%2Fguard/close'), { status: 409, detail });
    expect(await verb('web/guard', 'stop')).toMatchObject({ status: 200 });
  });

  it('close and wake at once: one of them wins, whoever is told so was right', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await crew.make();
      await crew.putState(id, round % 2 === 0 ? 'asleep' : 'suspended');
      const [closed, woken] = await Promise.all([verb(id, 'close'), verb(id, 'wake', crew.b)]);
      expect(closed.status).toBe(200);
      expect([200, 409]).toContain(woken.status);
      expect(await crew.row(id)).toMatchObject({ state: 'closed', wake_request: null });
      const kinds = await crew.kinds(id);
      expect(kinds.at(-1) === 'request.failed' ? kinds.at(-2) : kinds.at(-1)).toBe('session.closed');
    }
  });
});
