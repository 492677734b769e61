import { createHash } from 'node:crypto';
import { adminAt } from './database.js';
import type { Api } from './http.js';
import { eventually } from './sse.js';

export interface PutSession {
  readonly id: string;
  /** '' for a bare provider's. */
  readonly agent?: string;
  readonly alias?: string;
  readonly state?: string;
  /** With a process, which has this token. */
  readonly token?: boolean;
}

export interface StoredSession {
  readonly pk: number;
  readonly id: string;
  readonly token: string;
}

/**
 * A session as if a runner had it, or as if it had none: for tests of what sessions may do, without any process. Needs a city
 * that is registered.
 */
export async function putSession(databaseUrl: string, city: string, session: PutSession): Promise<StoredSession> {
  const { id, agent = 'mayor', alias = '', token: live = true, state = live ? 'active' : 'asleep' } = session;
  if (live) {
    await adminAt(
      databaseUrl,
      `insert into runners (id, process_id, host, capacity, state, lease_until)
       values ('runner-of-tests', 'tests', 'nowhere', 0, 'active', now() + interval '1 day') on conflict do nothing`,
    );
  }
  const [row] = await adminAt<{ pk: string }>(
    databaseUrl,
    `insert into sessions (stream_id, id, session_name, alias, title, kind, template, agent, agent_name, provider, origin, created_by, state,
       generation, instance_token, runner_id, live, closed_at)
     select e.id, $2, 's-' || $2, $3, $2, case when $4 = '' then 'provider' else 'agent' end, coalesce(nullif($4, ''), 'loopback'),
       nullif($4, ''), nullif($4, ''), 'loopback', 'manual', 'test', $5, 1, 'instance', case when $6 then 'runner-of-tests' end, $6,
       case when $5 = 'closed' then now() end
     from event_streams e where e.name = $1 returning pk`,
    [city, id, alias, agent, state, live],
  );
  const pk = Number(row!.pk);
  const token = `svs_${pk.toString(36)}_${createHash('md5').update(id).digest('hex')}`;
  await adminAt(databaseUrl, 'update sessions set token_hash = $2 where pk = $1', [pk, createHash('sha256').update(token).digest()]);
  await adminAt(databaseUrl, 'insert into session_logs (session_pk, generation) values ($1, 1)', [pk]);
  return { pk, id, token };
}

/** What paths of the families of sessions name. */
export interface SessionExamples {
  readonly session: string;
  readonly queued: string;
  readonly subAgent: string;
}

/** Names of what is nowhere. */
export const NO_SESSION: SessionExamples = { session: '0123456789ab', queued: '0123456789ab', subAgent: '0123456789ab' };

/**
 * Sessions that sleep, with something in their transcripts, of a bare provider and of the agents that examples name. No
 * process has ever run, so nothing about them changes by itself. Their ids hold `tag`.
 */
export async function makeSessions(databaseUrl: string, city: string, tag = 9): Promise<SessionExamples> {
  const examples = { session: `zz-${tag}00001`, queued: `msg-${tag}00001`, subAgent: `call-${tag}` };
  const said = async (pk: number, seq: number, kind: string, role: string, block: object, parent?: string): Promise<void> => {
    await adminAt(
      databaseUrl,
      `insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks, parent_tool_use_id)
       values ($1, $2::bigint, $2::bigint, '1.' || $2::bigint, 1, 1, 1, $3, $4, 'final', $5, $6)`,
      [pk, seq, kind, role, JSON.stringify([block]), parent ?? null],
    );
    await adminAt(databaseUrl, 'update session_logs set head = greatest(head, $2::bigint), entries = $2::bigint where session_pk = $1', [
      pk,
      seq,
    ]);
  };
  for (const [id, agent] of [
    [examples.session, ''],
    [`zz-${tag}00002`, 'mayor'],
    [`zz-${tag}00003`, 'yard/hand'],
  ] as const) {
    const { pk } = await putSession(databaseUrl, city, { id, agent, token: false });
    await said(pk, 1, 'message', 'user', { type: 'text', text: 'hello' });
    await said(pk, 2, 'message', 'assistant', { type: 'text', text: 'hello to you' });
    await said(pk, 3, 'message', 'assistant', { type: 'text', text: 'from below' }, examples.subAgent);
    if (id !== examples.session) continue;
    await adminAt(
      databaseUrl,
      `insert into session_messages (stream_id, session_pk, id, intent, body, source, sender, status, ended_at)
       select stream_id, pk, $2, 'default', 'hello', 'message', 'api', 'delivered', now() from sessions where pk = $1`,
      [pk, examples.queued],
    );
  }
  return examples;
}

/** A documented path with the parameters of sessions filled; others stay as they are. */
export function sessionPath(path: string, { session, queued, subAgent }: SessionExamples): string {
  const filled = path.replace('{agent}', 'mayor');
  if (!path.includes('{cityName}/session/')) return filled;
  return filled.replace('{id}', session).replace('{messageId}', queued).replace('{agentId}', subAgent);
}

/** Uses every mutation of these families once, to good effect, on a session with a real process. */
export async function useSessions(ask: (method: string, path: string, body?: object) => Promise<any>): Promise<void> {
  const at = (step = ''): string => `session/examined${step}`;
  const until = (what: string, holds: (answer: any) => boolean, path = at()): Promise<any> =>
    eventually(async () => {
      const answer = await ask('GET', path);
      return holds(answer) ? answer : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${what}: ${String(error)}`);
    });
  const idle = (): Promise<any> => until('idle', ({ running, state, activity }) => running && state === 'active' && activity === 'idle');
  await ask('POST', 'sessions', { kind: 'provider', name: 'loopback', alias: 'examined' });
  await idle();
  await ask('PATCH', at(), { title: 'one' });
  await ask('POST', at('/rename'), { title: 'two' });
  await ask('POST', at('/permission-mode'), { permission_mode: 'ask' });
  await ask('POST', at('/accept-drift'));
  await ask('POST', 'sessions/accept-drift', { agent: 'mayor' });
  await ask('POST', at('/messages'), { message: 'ask' });
  await until('a question', ({ pending }) => pending !== undefined, at('/pending'));
  await ask('POST', at('/respond'), { action: 'approve' });
  await idle();
  await ask('POST', at('/submit'), { message: 'wait 60000' });
  await until('a turn', ({ activity }) => activity === 'in-turn');
  await ask('POST', at('/submit'), { message: 'later', intent: 'follow_up' });
  const { items } = await ask('GET', at('/messages'));
  const queued = (items as { id: string; status: string }[]).find(({ status }) => status === 'queued')!;
  await ask('DELETE', at(`/messages/${queued.id}`));
  await ask('POST', at('/stop'));
  await idle();
  for (const step of ['drain', 'wake', 'kill', 'wake', 'reset', 'suspend', 'close']) {
    await ask('POST', at(`/${step}`));
    if (step === 'wake' || step === 'reset') await idle();
  }
}

/** Suspends a city and waits until none of its sessions does anything any more. */
export async function quiet(client: Api, city: string): Promise<void> {
  const reply = await client.patch(`/v0/city/${city}`, { suspended: true });
  if (reply.status !== 200) throw new Error(`suspend ${city}: ${reply.status} ${reply.text}`);
  let head: string | null = null;
  let since = 0;
  let moving = 0;
  const still = async (): Promise<boolean> => {
    moving = (await client.get(`/v0/city/${city}/sessions?state=active,creating,draining`)).body.total as number;
    const now = (await client.get(`/v0/city/${city}/events?limit=1`)).headers.get('x-svc-index');
    if (now !== head) since = performance.now();
    head = now;
    return moving === 0 && performance.now() - since > 2_500;
  };
  await eventually(still).catch(() => {
    throw new Error(`${city} does not come to rest: ${moving} sessions, head ${head}`);
  });
}
