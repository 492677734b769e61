import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { account, packagedPrograms } from './packaged-postgres.js';
import { freePort } from './redis.js';
import { place } from './scratch-database.js';
import { eventually } from './sse.js';

const CONFIGURATION = fileURLToPath(new URL('../../deploy/patroni.yml', import.meta.url));
const PROGRAMS = ['/usr/bin/patroni', '/usr/bin/patronictl', '/usr/bin/etcd'];
const PASSWORD = 'svc';
/** Who changes something by way of a node shows these. */
const REST = { PATRONI_RESTAPI_USERNAME: 'svc', PATRONI_RESTAPI_PASSWORD: PASSWORD };
const SOCKETS = '/var/run/postgresql';

/** Whether packages of the system have Patroni, etcd and PostgreSQL with all of its programs. */
export const hasPatroni =
  packagedPrograms !== undefined && [...PROGRAMS, join(packagedPrograms, 'pg_rewind')].every((program) => existsSync(program));

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

/** Nodes of PostgreSQL under Patroni, configured as docker-compose.ha.yml has them, and one etcd. */
export class PatroniCluster {
  readonly nodes: PatroniNode[] = [];
  readonly #children: ChildProcess[] = [];

  private constructor(
    private readonly dir: string,
    private readonly as: { uid: number; gid: number } | undefined,
    private readonly etcd: string,
  ) {}

  static async start(nodes: number): Promise<PatroniCluster> {
    const dir = await mkdtemp(join(await place(), 'svc-patroni-'));
    // No server of PostgreSQL runs as root.
    const as = process.getuid?.() === 0 ? account('postgres') : undefined;
    if (as !== undefined) await chown(dir, as.uid, as.gid);
    await chmod(dir, 0o755);
    if (!existsSync(SOCKETS)) {
      await mkdir(SOCKETS, { recursive: true });
      if (as !== undefined) await chown(SOCKETS, as.uid, as.gid);
    }
    const [clients, peers] = [await freePort(), await freePort()];
    const cluster = new PatroniCluster(dir, as, `127.0.0.1:${clients}`);
    try {
      cluster.#startEtcd(`http://127.0.0.1:${clients}`, `http://127.0.0.1:${peers}`);
      await eventually(() => answers(`http://127.0.0.1:${clients}/health`));
      for (let n = 1; n <= nodes; n++) {
        const node = new PatroniNode(`node${n}`, join(dir, `node${n}`), await freePort(), await freePort(), (...args) =>
          cluster.#spawn(...args),
        );
        node.start(`127.0.0.1:${clients}`);
        cluster.nodes.push(node);
        // The first makes the cluster, as in docker-compose.ha.yml; the others copy it.
        await eventually(async () => (await node.role()) !== undefined);
      }
      await cluster.isWhole();
      return cluster;
    } catch (error) {
      const said = cluster.nodes.map(({ name, output }) => `${name}:\n${output.slice(-3_000)}`).join('\n');
      await cluster.stop();
      throw new Error(`Patroni did not come up:\n${said}`, { cause: error });
    }
  }

  /** All of them, as `SVC_DATABASE_URL` names them. */
  get url(): string {
    return `postgres://svc:${PASSWORD}@${this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/svc?target_session_attrs=read-write`;
  }

  async members(): Promise<Member[]> {
    for (const { rest } of this.nodes) {
      const answer = await fetch(`http://127.0.0.1:${rest}/cluster`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
      if (answer?.ok === true) return ((await answer.json()) as { members: Member[] }).members;
    }
    return [];
  }

  /** Who has the leader's lock and takes writes, other than this one. */
  leader(otherThan?: PatroniNode): Promise<PatroniNode> {
    return eventually(async () => {
      const name = (await this.members()).find(({ role }) => role === 'leader')?.name;
      const node = this.nodes.find((one) => one.name === name);
      return node !== undefined && node !== otherThan && (await node.role()) === 'leader' ? node : undefined;
    });
  }

  /** One leads, the others follow it, and where commits wait for one of them it is chosen. */
  async isWhole(synchronous = true): Promise<void> {
    const following = ['running', 'streaming'];
    await eventually(async () => {
      const members = await this.members();
      const leaders = members.filter(({ role, state }) => role === 'leader' && state === 'running');
      const followers = members.filter(({ role, state }) => role !== 'leader' && following.includes(state));
      const waitedFor = members.filter(({ role }) => role === 'sync_standby');
      return leaders.length === 1 && followers.length === this.nodes.length - 1 && (!synchronous || waitedFor.length > 0);
    });
    // What the nodes say of themselves can be of a moment ago.
    const leader = await this.leader();
    await eventually(async () => (await leader.followers(synchronous)) >= (synchronous ? 1 : this.nodes.length - 1));
  }

  async ctl(...args: string[]): Promise<string> {
    const env = { ...environment(), PATRONI_ETCD_HOSTS: this.etcd, ...REST };
    return (await promisify(execFile)('/usr/bin/patronictl', ['-c', CONFIGURATION, ...args], { env })).stdout;
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) node.signal('SIGKILL');
    for (const child of this.#children) child.kill('SIGKILL');
    await eventually(() => this.nodes.every((node) => node.processes().length === 0));
    await rm(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }

  #startEtcd(clients: string, peers: string): void {
    const etcd = [
      `--data-dir=${join(this.dir, 'etcd')}`,
      '--name=etcd',
      `--initial-cluster=etcd=${peers}`,
      '--unsafe-no-fsync',
      '--enable-v2',
    ];
    for (const what of ['listen-client-urls', 'advertise-client-urls']) etcd.push(`--${what}=${clients}`);
    for (const what of ['listen-peer-urls', 'initial-advertise-peer-urls']) etcd.push(`--${what}=${peers}`);
    this.#spawn('/usr/bin/etcd', etcd, environment()).stderr!.resume();
  }

  #spawn(program: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
    const child = spawn(program, [...args], { cwd: '/', env, stdio: ['ignore', 'ignore', 'pipe'], ...this.as });
    this.#children.push(child);
    return child;
  }
}

const environment = (): NodeJS.ProcessEnv => ({ PATH: `${packagedPrograms}:/usr/bin:/bin`, LC_ALL: 'C.UTF-8', HOME: '/tmp' });

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

export class PatroniNode {
  output = '';
  #child: ChildProcess | undefined;
  #etcd = '';

  constructor(
    readonly name: string,
    private readonly data: string,
    readonly port: number,
    readonly rest: number,
    private readonly spawn: (program: string, args: readonly string[], env: NodeJS.ProcessEnv) => ChildProcess,
  ) {}

  get url(): string {
    return `postgres://svc:${PASSWORD}@127.0.0.1:${this.port}/svc`;
  }

  start(etcd = this.#etcd): void {
    this.#etcd = etcd;
    this.#child = this.spawn('/usr/bin/patroni', [CONFIGURATION], {
      ...environment(),
      PATRONI_NAME: this.name,
      PATRONI_ETCD_HOSTS: etcd,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${this.rest}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${this.rest}`,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${this.port}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${this.port}`,
      PATRONI_POSTGRESQL_DATA_DIR: this.data,
      PATRONI_POSTGRESQL_PGPASS: `${this.data}.pgpass`,
      PATRONI_SUPERUSER_USERNAME: 'svc',
      PATRONI_SUPERUSER_PASSWORD: PASSWORD,
      PATRONI_REPLICATION_USERNAME: 'svc',
      PATRONI_REPLICATION_PASSWORD: PASSWORD,
      ...REST,
    });
    this.#child.stderr!.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
  }

  /** What it is by its own account: undefined when it does not answer, or its server does not run. */
  async role(): Promise<string | undefined> {
    const answer = await fetch(`http://127.0.0.1:${this.rest}/patroni`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    if (answer === undefined) return undefined;
    const { state, role } = (await answer.json()) as { state: string; role: string };
    if (state !== 'running') return undefined;
    return role === 'master' || role === 'primary' ? 'leader' : role;
  }

  /** How many stream from it, or how many of them commits wait for. */
  async followers(synchronous: boolean): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.rest}/patroni`).catch(() => undefined);
    const { replication = [] } = ((await answer?.json()) ?? {}) as { replication?: { state: string; sync_state: string }[] };
    return replication.filter(({ state, sync_state }) => state === 'streaming' && (!synchronous || sync_state !== 'async')).length;
  }

  /** Patroni, its server and all processes of that, as they are now. */
  processes(): number[] {
    const roots = [this.#child?.pid, postmasterIn(this.data)].filter((pid): pid is number => pid !== undefined);
    const parents = new Map<number, number>();
    for (const entry of readdirSync('/proc')) if (/^\d+$/.test(entry)) parents.set(Number(entry), parentOf(Number(entry)));
    const found = new Set(roots.filter((pid) => parents.get(pid) !== undefined && parents.get(pid) !== 0));
    for (let size = -1; size !== found.size;) {
      size = found.size;
      for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
    }
    return [...found];
  }

  /** To all of them: nobody of the node is left to tell anybody. */
  signal(signal: NodeJS.Signals): void {
    for (const pid of this.processes())
      try {
        process.kill(pid, signal);
      } catch {
        // it has ended by itself
      }
  }
}

/** 0 of one that is gone, or has ended and is not waited for yet. */
function parentOf(pid: number): number {
  try {
    const [, state, parent] = /\) (\w) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))!;
    return state === 'Z' ? 0 : Number(parent);
  } catch {
    return 0;
  }
}

function postmasterIn(data: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10);
    // The file of one that was killed stays, and its number may be somebody else's.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(data) ? pid : undefined;
  } catch {
    return undefined;
  }
}
