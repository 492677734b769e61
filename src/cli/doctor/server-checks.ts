import { RUNNER_LEASE_MS } from '../../contract/runner-lease.js';
import { ask, type Api, type Schemas } from '../api.js';
import { showDuration } from '../duration.js';
import { showLimits } from '../sessions/limits.js';
import { failed, ok, skipped, warning, type Found } from './finding.js';

type Info = Schemas['SupervisorInfo'];
type Deployment = NonNullable<Info['deployment']>;

const MENDS: Readonly<Record<string, string>> = {
  database: 'psql "$SVC_DATABASE_URL" -c "select 1"',
  writes: 'psql "$SVC_DATABASE_URL" -c "show default_transaction_read_only"    # who has set it, and whether its disk is nearly full',
  queue: 'redis-cli -u "$SVC_REDIS_URL" ping',
  listener: 'psql "$SVC_DATABASE_URL" -c "listen probe"    # directly at the server: a pooler of transactions has no LISTEN',
};

/** Without these the server goes on, and a balancer that asks it `/ready` sends it nobody. */
const MEANWHILE: Readonly<Record<string, string>> = {
  writes: 'what is there can be read, and changes are refused; /ready is 503 until it takes them',
  queue: 'what is accepted meanwhile is taken from the database, later; /ready is 503 until it works',
  listener: 'changes are looked for, and arrive later; /ready is 503 until it works',
};

/** What Docker calls a container that nobody has named. Nothing can be installed in it to stay, and its image has bubblewrap. */
const CONTAINER = /^[0-9a-f]{12}$/;
const ISOLATED =
  'docker compose -f docker-compose.yml -f docker-compose.isolation.yml up -d    # first docs/how-to/cluster.md#give-the-database-a-password';

/** Each part that the process which answers needs. Asked without a key. */
export async function parts(api: Api): Promise<Found[]> {
  const { response, data, error } = await api.http.GET('/ready', { signal: AbortSignal.any([api.signal, AbortSignal.timeout(10_000)]) });
  if (response.ok) return [ok('ready', `${(data?.parts ?? []).join(', ')} work`)];
  const broken = error?.errors ?? [];
  if (broken.length === 0) return [failed('ready', error?.detail ?? `HTTP ${response.status}`)];
  return broken.map(({ location = 'ready', message = '' }) =>
    failed(location, `${message}: ${MEANWHILE[location] ?? 'the server answers 503 until it works'}`, mendOf(location, message)),
  );
}

/** Jobs go over Redis or over the database, which mends both. */
function mendOf(part: string, message: string): string | undefined {
  return MENDS[part === 'queue' && message.includes('PostgreSQL') ? 'database' : part];
}

/** Who may call. */
export function openness({ auth, read_only: readOnly, tls }: Info, url: URL): Found[] {
  const found: Found[] = [];
  if (readOnly)
    found.push(
      failed(
        'auth',
        'it listens to the network and asks for no keys: everybody may read, nobody may change anything',
        'SVC_AUTH=keys svc serve',
      ),
    );
  else if (auth === 'keys') found.push(ok('auth', 'keys are needed'));
  else if (isLocal(url)) found.push(ok('auth', 'off: whoever reaches this machine may do everything'));
  else
    found.push(warning('auth', `off, and ${url.hostname} is another machine: who reaches it may do everything`, 'SVC_AUTH=keys svc serve'));
  if (!tls && url.protocol === 'http:' && !isLocal(url))
    found.push(
      warning(
        'transport',
        'plain HTTP: keys and answers go over the network as they are',
        'SVC_TLS_CERT=tls.crt SVC_TLS_KEY=tls.key svc serve',
      ),
    );
  return found;
}

/** The rest of the deployment, told to who may see all cities. */
export function deployment({ deployment: it, version }: Info): Found[] {
  if (it === undefined)
    return [skipped('deployment', 'the database, the queue and the runners are told to keys that are not limited to cities')];
  return [database(it.database), queue(it), ...processes(it, version), ...(it.places ?? []).map(place), ...hostFile(it)];
}

function database({ version, schema, missing: lacks, unknown: newer }: Deployment['database']): Found {
  const said = `PostgreSQL ${version}, schema ${schema}`;
  const [missing, unknown] = [lacks ?? [], newer ?? []];
  if (missing.length > 0)
    return failed('database', `${said}: ${missing.length} migrations are missing, from ${missing[0]} on`, 'node dist/src/entry/migrate.js');
  if (unknown.length > 0)
    return warning('database', `${said}: a newer release has changed it (${unknown.at(-1)})`, 'svc serve    # of that release');
  return ok('database', said);
}

/** A server of a release before it says nothing of them. */
function place({ place: name, directory, free_bytes: free, level, writable }: NonNullable<Deployment['places']>[number]): Found {
  const said = `${(free / 2 ** 30).toFixed(1)} GB are free in ${directory}`;
  if (!writable)
    return failed(`${name} folder`, `${directory} cannot be written by the service`, `ls -ld '${directory}'; mount    # ro: read-only`);
  if (level === 'ok') return ok(`${name} folder`, said);
  const full = `${said}: cities, and a database that is there, stop when it is full`;
  return (level === 'warn' ? warning : failed)(`${name} folder`, full, `df -h '${directory}'`);
}

/** It is read when a process starts, and each time that git signs in. */
function hostFile({ host_file_fault: fault }: Deployment): Found[] {
  return fault === undefined ? [] : [failed('host.toml', `${fault}: git signs in nowhere, and the service does not start again`)];
}

function queue({ queue: kind, processes: all }: Deployment): Found {
  const count = (all ?? []).length;
  if (kind === 'postgres' && count > 1)
    return warning(
      'queue',
      `on PostgreSQL, for ${count} processes: it slows all notifications of that server`,
      'SVC_REDIS_URL=redis://… svc serve',
    );
  return ok('queue', kind === 'redis' ? 'on Redis' : 'on PostgreSQL');
}

function processes({ processes: all, partial }: Deployment, version: string): Found[] {
  const alive = all ?? [];
  const works = alive.filter(({ role }) => role !== 'api').length;
  const said = `${alive.length}${partial === true ? ' and more' : ''} alive, ${works} of them workers`;
  const others = [...new Set(alive.map((one) => one.version))].filter((one) => one !== version);
  if (works === 0) return [failed('processes', `${said}: nothing that is accepted is done`, 'SVC_ROLE=worker svc serve')];
  if (others.length > 0)
    return [
      warning('processes', `${said}, of several releases: ${[version, ...others].join(', ')}`, 'docker compose up -d --no-deps worker api'),
    ];
  return [ok('processes', said)];
}

/** A runner whose lease is over and of whom no other worker writes that it is lost. One that a restore has brought back is written off until then. */
const WRITTEN_OFF_MS = RUNNER_LEASE_MS * 2;

/** The workers that run agents, and what walls these off. */
export async function runners(api: Api): Promise<Found[]> {
  const { data } = await ask(api, (signal) => api.http.GET('/v0/runners', { signal }));
  const all = data.items ?? [];
  const taking = all.filter(({ state }) => state === 'active');
  // When a lease is over other workers write that its runner is lost, some seconds later. Where there are none, it is `active` still.
  const ageMs = ({ lease_age_s: age }: Schemas['Runner']): number => age * 1_000;
  const active = taking.filter((one) => ageMs(one) <= RUNNER_LEASE_MS);
  const silent = taking.filter((one) => ageMs(one) > (active.length > 0 ? WRITTEN_OFF_MS : RUNNER_LEASE_MS)).map(unheard);
  if (active.length === 0) return [...silent, failed('runners', 'none: no agent is started', 'SVC_ROLE=worker svc serve')];
  const found = [...silent, ...active.map(runner)];
  const [held, room] = [sum(active.map((one) => one.sessions)), sum(active.map((one) => one.capacity))];
  found.push(
    held < room
      ? ok('room', `${held} of ${room} sessions`)
      : warning('room', `${held} of ${room} sessions: others wait`, 'SVC_RUNNER_CAPACITY=200 svc serve'),
  );
  found.push(networkWalls(active));
  return found;
}

function unheard({ id, host, lease_age_s: age }: Schemas['Runner']): Found {
  return failed(`runner ${host}`, `${id}: not heard of for ${showDuration(age * 1_000)}: its process has died, or is stopped or cut off`);
}

function runner({ id, host, isolation, limits }: Schemas['Runner']): Found {
  const name = `runner ${host}`;
  if (isolation === 'bubblewrap') return ok(name, `${id}: each session in a sandbox (bubblewrap)${limitedBy(limits)}`);
  if (isolation === 'users')
    return ok(name, `${id}: each session as a user of its own${limitedBy(limits)}; bubblewrap would hide more of the host`);
  return warning(
    name,
    `${id}: agents are NOT ISOLATED: they can do what the service can, its keys and all cities included`,
    CONTAINER.test(host) ? ISOLATED : 'sudo apt-get install bubblewrap    # then start the worker again',
  );
}

function limitedBy(limits: Schemas['Runner']['limits']): string {
  return limits === undefined ? '' : `, limited by ${showLimits(limits)}`;
}

/** @returns whether sessions can be kept from the network */
function networkWalls(active: readonly Schemas['Runner'][]): Found {
  const able = active.filter(({ isolation }) => isolation === 'bubblewrap').length;
  if (able === active.length) return ok('network walls', 'the network of sessions can be restricted');
  const who = able === 0 ? 'no runner' : `${able} of ${active.length} runners`;
  return warning(
    'network walls',
    `${who} can restrict the network of sessions: those whose \`network\` is restricted are not started without`,
  );
}

const sum = (numbers: readonly number[]): number => numbers.reduce((before, n) => before + n, 0);

export function isLocal({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
