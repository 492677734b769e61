import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { startStack, testRedisUrl, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { eventually } from '../support/sse.js';
import { RUNNER_LEASE_MS } from '../support/stack-timings.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

/** Workers that are real processes, with agents that are: what one of them loses, another one goes on with. */
let stack: Stack;
let root: Api;
const workers: SupervisorProcess[] = [];

async function worker(): Promise<SupervisorProcess> {
  const started = spawnSupervisor({
    SVC_ROLE: 'worker',
    SVC_DATABASE_URL: stack.databaseUrl,
    SVC_CITIES_ROOT: stack.citiesRoot,
    SVC_DATA_DIR: stack.config.dataDir,
    SVC_PROVIDER_CHECK: 'off',
    ...(testRedisUrl === undefined ? {} : { SVC_REDIS_URL: testRedisUrl }),
  });
  workers.push(started);
  await started.ready();
  return started;
}

interface Row {
  pk: number;
  state: string;
  generation: number;
  live: boolean;
  epoch: number;
  process_id: string | null;
}

async function session(id: string): Promise<Row> {
  const [row] = await adminAt<Row>(
    stack.databaseUrl,
    `select s.pk::int, s.state, s.generation::int, s.live, s.epoch, r.process_id from sessions s left join runners r on r.id = s.runner_id where s.id = $1`,
    [id],
  );
  return row!;
}

async function says(id: string): Promise<string> {
  const rows = await adminAt<{ text: string | null }>(
    stack.databaseUrl,
    `select string_agg(e.blocks -> 0 ->> 'text', E'\\n' order by e.seq) as text from session_entries e join sessions s on s.pk = e.session_pk
     where s.id = $1 and e.role = 'assistant' and e.kind = 'message'`,
    [id],
  );
  return rows[0]?.text ?? '';
}

/** Processes of the session on this machine, by what their environment says. */
function processes(id: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const env = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      // Another suite on this machine may have a session of the same id.
      const ours = env.some((line) => line.startsWith(`SVC_CITY_PATH=${stack.citiesRoot}`));
      return ours && env.includes(`SVC_SESSION_ID=${id}`) ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

async function create(): Promise<string> {
  const accepted = await root.post('/v0/city/town/sessions', { kind: 'provider', name: 'loopback' });
  expect(accepted.status).toBe(202);
  const ended = `/v0/city/town/events?payload_match=request_id%3D${accepted.body.request_id}`;
  let result: any;
  await eventually(async () => (result = (await root.get(ended)).body.items?.[0]) !== undefined);
  expect(result.type).toBe('request.result.session.create');
  return result.payload.session.id;
}

const send = async (id: string, message: string): Promise<void> => {
  expect((await root.post(`/v0/city/town/session/${id}/messages`, { message })).status).toBe(202);
};

/** What the supervisor's stream says of runners, the oldest first. */
async function told(): Promise<string[]> {
  const { body } = await root.get('/v0/events?limit=1000');
  const types = (body.items as { type: string }[]).map(({ type }) => type);
  return types
    .filter((type) => type.startsWith('runner.'))
    .map((type) => type.slice('runner.'.length))
    .toReversed();
}

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 0 });
  root = api(stack.urls[0]!);
  await worker();
  const accepted = await root.post('/v0/city', { dir: 'town', provider: 'loopback' });
  const ended = `/v0/events?payload_match=request_id%3D${accepted.body.request_id}`;
  await eventually(async () => (await root.get(ended)).body.total > 0);
});

afterAll(async () => {
  for (const { child } of workers) child.kill('SIGTERM');
  await Promise.all(workers.map(({ exited }) => exited));
  await stack.stop();
});

describe('a session', () => {
  it('answers, sleeps, and goes on with its conversation', async () => {
    const id = await create();
    await send(id, 'hello');
    await eventually(async () => (await says(id)).includes('hello'));
    expect(processes(id).length).toBeGreaterThan(0);
    expect((await root.post(`/v0/city/town/session/${id}/suspend`, {})).status).toBe(200);
    expect(await session(id)).toMatchObject({ state: 'suspended', live: false });
    expect(processes(id)).toEqual([]);
    await send(id, 'history');
    await eventually(async () => (await says(id)).includes('prompts before: 1'));
    expect(await session(id)).toMatchObject({ generation: 2, epoch: 1 });
    expect((await root.post(`/v0/city/town/session/${id}/close`, {})).status).toBe(200);
    expect(processes(id)).toEqual([]);
  });

  it('leaves nothing behind, also not what its agent has started', async () => {
    const id = await create();
    await send(id, 'spawn');
    await eventually(() => processes(id).length > 1);
    expect((await root.post(`/v0/city/town/session/${id}/close`, {})).status).toBe(200);
    expect(processes(id)).toEqual([]);
  });

  it('goes on with another worker when its own is killed', async () => {
    const id = await create();
    await send(id, 'hello');
    await eventually(async () => (await says(id)).includes('hello'));
    const before = processes(id);
    const [old] = workers.splice(0);
    const next = await worker();
    old!.child.kill('SIGKILL');
    await old!.exited;
    // As if the time of its lease had passed; nobody renews it any more.
    const { process_id: gone } = await session(id);
    await eventually(async () => (await told()).length === 2);
    expect(await told()).toEqual(['registered', 'registered']);
    await adminAt(stack.databaseUrl, `update runners set lease_until = lease_until - $1 * interval '1 ms' where process_id = $2`, [
      RUNNER_LEASE_MS,
      gone,
    ]);
    await eventually(async () => {
      const { generation, live } = await session(id);
      return generation === 2 && live;
    });
    await eventually(async () => (await told()).length === 3);
    expect(await told()).toEqual(['registered', 'registered', 'lost']);
    expect(processes(id).filter((pid) => before.includes(pid))).toEqual([]);
    await send(id, 'history');
    await eventually(async () => (await says(id)).includes('prompts before: 1'));
    expect(next.child.exitCode).toBeNull();
  });

  it('is handed over when its worker is told to stop', async () => {
    const id = await create();
    const [old] = workers.splice(0);
    await worker();
    await eventually(async () => (await told()).length === 4);
    old!.child.kill('SIGTERM');
    expect(await old!.exited).toEqual({ code: 0, signal: null });
    await eventually(async () => {
      const { generation, live } = await session(id);
      return generation === 2 && live;
    });
    await eventually(async () => (await told()).length === 6);
    expect((await told()).slice(3)).toEqual(['registered', 'draining', 'stopped']);
    const { items } = (await root.get('/v0/events?type=runner.stopped')).body;
    expect(items).toMatchObject([
      { city: '__supervisor__', subject: items[0].payload.id, payload: { state: 'stopped', sessions: 0, live: 0 } },
    ]);
  });
});
