import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createWriteStream, type WriteStream } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Proxy } from './proxy.js';

/** Built for the run alone, so that nobody's next build disturbs it. */
const ENTRY = fileURLToPath(new URL('../../.chaos/src/entry/serve.js', import.meta.url));
const READY_WITHIN_MS = 180_000;
const RESTART_MS = 250;

export interface FleetOptions {
  readonly database: string;
  readonly credentials: string;
  readonly postgresPort: () => number;
  readonly redisUrl: string | undefined;
  readonly directory: string;
  readonly heartbeatMs: number;
  /** Whether its workers run agents. */
  readonly agents: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** The failpoints of a process that is about to start; '' arms none. */
  readonly failpoints: (member: Member) => string;
  readonly onTerminate: (member: Member) => void;
  readonly onExit: (member: Member, exit: Exit) => void;
}

/** How a process ended. */
export interface Exit {
  readonly how: string;
  readonly pid: number | undefined;
  /** Killed by the run, not by a failpoint of its own. */
  readonly asked: boolean;
  /** It had been ready: an end that nobody asked for is a crash. */
  readonly ready: boolean;
  /** From SIGTERM to the end. */
  readonly stopMs?: number;
  readonly lastLines: string;
}

/** One place in the fleet: a process of the product that is started again whenever it ends. */
export class Member {
  readonly url: string;
  armed = '';
  paused = false;
  starts = 0;
  #child: ChildProcess | undefined;
  #wanted = false;
  #timer: NodeJS.Timeout | undefined;
  #diedAt = -Infinity;
  #ready = false;
  #asked = false;
  #termAt: number | undefined;
  #tail = '';

  private constructor(
    readonly name: string,
    readonly role: 'api' | 'worker',
    readonly port: number,
    readonly proxy: Proxy,
    private readonly options: FleetOptions,
    private readonly log: WriteStream,
  ) {
    this.url = `http://127.0.0.1:${port}`;
  }

  static async make(name: string, role: 'api' | 'worker', options: FleetOptions): Promise<Member> {
    const [port, proxy] = [await lastingPort(), await Proxy.start(options.postgresPort)];
    return new Member(name, role, port, proxy, options, createWriteStream(`${options.directory}/${name}.log`));
  }

  start(): void {
    this.#wanted = true;
    if (this.#child !== undefined) return;
    this.armed = this.options.failpoints(this);
    this.starts++;
    const child = spawn(process.execPath, [ENTRY], { env: this.#environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.#ready = this.#asked = false;
    this.#termAt = undefined;
    this.#tail = '';
    for (const output of [child.stdout, child.stderr]) output.on('data', (data: Buffer) => this.#heard(data));
    child.once('exit', (code, signal) => {
      this.#child = undefined;
      this.paused = false;
      this.#diedAt = performance.now();
      this.options.onExit(this, {
        how: signal ?? String(code),
        pid: child.pid,
        asked: this.#asked,
        ready: this.#ready,
        lastLines: this.#tail.slice(-600),
        ...(this.#termAt === undefined ? {} : { stopMs: performance.now() - this.#termAt }),
      });
      if (this.#wanted) this.#timer = setTimeout(() => this.start(), RESTART_MS);
    });
  }

  /** Whether it takes requests, as far as can be known from outside. */
  get serving(): boolean {
    return this.#child !== undefined && this.#ready && this.#termAt === undefined;
  }

  /** Whether it lived all the time since `ms` ago: a socket that ended did so because the process meant it. */
  livedFor(ms: number): boolean {
    return this.#child !== undefined && performance.now() - this.#diedAt > ms;
  }

  signal(signal: NodeJS.Signals): boolean {
    if (signal === 'SIGSTOP') this.paused = this.#child !== undefined;
    if (signal === 'SIGCONT') this.paused = false;
    if (signal === 'SIGKILL') this.#asked = true;
    if (signal === 'SIGTERM' && this.#child !== undefined && this.#termAt === undefined) {
      this.#termAt = performance.now();
      this.options.onTerminate(this);
    }
    return this.#child?.kill(signal) ?? false;
  }

  async ready(): Promise<void> {
    const limit = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const answer = await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
      if (answer?.ok === true) return;
      if (performance.now() > limit) throw new Error(`${this.name} does not answer; see its log`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends in order and does not come back. Answers how long it took. */
  async stop(): Promise<number> {
    this.#wanted = false;
    clearTimeout(this.#timer);
    const child = this.#child;
    const began = performance.now();
    if (child !== undefined) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      this.signal('SIGCONT');
      this.signal('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 8_000);
      await gone;
      clearTimeout(timer);
    }
    return performance.now() - began;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.proxy.stop();
    this.log.end();
  }

  #heard(data: Buffer): void {
    this.log.write(data);
    this.#tail = (this.#tail + data.toString()).slice(-4_000);
    if (this.#tail.includes(' ready on ')) this.#ready = true;
  }

  #environment(): NodeJS.ProcessEnv {
    const { database, credentials, redisUrl, directory, heartbeatMs, environment } = this.options;
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS');
    return {
      ...Object.fromEntries(own),
      SVC_ROLE: this.role,
      SVC_PORT: String(this.port),
      SVC_DATABASE_URL: `postgres://${credentials}@127.0.0.1:${this.proxy.port}/${database}`,
      ...(redisUrl === undefined ? {} : { SVC_REDIS_URL: redisUrl }),
      SVC_DATA_DIR: `${directory}/data`,
      SVC_CITIES_ROOT: `${directory}/cities`,
      SVC_HEARTBEAT_MS: String(heartbeatMs),
      SVC_PROVIDER_CHECK: 'off',
      ...(this.options.agents ? {} : { SVC_RUNNER_CAPACITY: '0' }),
      ...environment,
      SVC_LOG_LEVEL: process.env.CHAOS_LOG_LEVEL ?? 'warn',
      ...(this.armed === '' ? {} : { SVC_TEST_FAILPOINTS: this.armed }),
    };
  }
}

/** A port that stays free while its process is away: outside the range from which outgoing connections take theirs. */
async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => server.close(resolve));
    if (free) return port;
  }
}
