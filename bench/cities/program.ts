import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lib/child.js';
import { freePort, sleep } from '../lib/machine.js';

const READY_WITHIN_MS = 120_000;

export interface ProgramOptions {
  readonly name: string;
  readonly dataDir: string;
  readonly logDir: string;
  readonly role?: 'all' | 'api' | 'worker';
  /** Its own, embedded, when absent. */
  readonly databaseUrl?: string;
  /** One that is free unless given. */
  readonly port?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** The built program as `npm start` begins it, in a process of its own that may be killed. */
export class Program {
  readonly exited: Promise<void>;

  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
    readonly readyMs: number,
    private readonly options: ProgramOptions,
  ) {
    this.exited = new Promise((resolve) => void child.once('exit', () => resolve()));
  }

  static async start(options: ProgramOptions): Promise<Program> {
    const port = options.port ?? (await freePort());
    const out = openSync(join(options.logDir, `${options.name}.log`), 'a');
    const inherited = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS'),
    );
    const given = process.env.BENCH_NODE_OPTIONS;
    const began = performance.now();
    const child = spawn(process.execPath, [join(ROOT, 'dist/src/entry/serve.js')], {
      cwd: ROOT,
      env: {
        ...inherited,
        NODE_ENV: 'production',
        SVC_ROLE: options.role ?? 'all',
        SVC_PORT: String(port),
        SVC_DATA_DIR: options.dataDir,
        ...(options.databaseUrl === undefined ? {} : { SVC_DATABASE_URL: options.databaseUrl }),
        // One client makes all requests here.
        SVC_RATE_LIMIT_KEY: '0',
        ...(given === undefined ? {} : { NODE_OPTIONS: given }),
        ...options.env,
      },
      stdio: ['ignore', out, out],
    });
    closeSync(out);
    const limit = began + READY_WITHIN_MS;
    while (
      !(await fetch(`http://127.0.0.1:${port}/ready`).then(
        (answer) => answer.ok,
        () => false,
      ))
    ) {
      if (child.exitCode !== null || performance.now() > limit)
        throw new Error(`${options.name} does not start; see its log in ${options.logDir}`);
      await sleep(50);
    }
    return new Program(child, port, performance.now() - began, options);
  }

  get pid(): number {
    return this.child.pid!;
  }

  get name(): string {
    return this.options.name;
  }

  /** The embedded server's first process. */
  get postmaster(): number {
    return postmasterOf(this.options.dataDir);
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill(signal);
    await this.exited;
  }

  async ask(method: string, path: string, body?: unknown): Promise<Response> {
    const headers = { 'x-svc-request': '1', 'content-type': 'application/json' };
    return fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

const pidLines = (dataDir: string): string[] => readFileSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n');

export const postmasterOf = (dataDir: string): number => Number(pidLines(dataDir)[0]);

/** Where the embedded database of a data directory is reached. */
export function embeddedUrl(dataDir: string): string {
  const password = readFileSync(join(dataDir, 'postgres', 'password'), 'utf8').trim();
  return `postgres://svc:${password}@127.0.0.1:${pidLines(dataDir)[3]!.trim()}/svc`;
}

export interface TreeMemory {
  /** Proportional memory, in kB: what they share counts once. */
  readonly allKb: number;
  /** Of that what is no file and no shared memory, such as the buffers of a database, which fill up. */
  readonly ownKb: number;
}

/** Memory of a process and its children. */
export function treeMemory(root: number): TreeMemory {
  let [allKb, ownKb] = [0, 0];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[1]);
      if (Number(name) !== root && parent !== root) continue;
      const rollup = readFileSync(`/proc/${name}/smaps_rollup`, 'utf8');
      allKb += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
      ownKb += Number(/^Pss_Anon:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
    } catch {
      // gone meanwhile
    }
  }
  return { allKb, ownKb };
}

export const cityDirOf = (dataDir: string, name: string): string => {
  const at = join(dataDir, 'cities', name);
  if (!existsSync(at)) throw new Error(`${at} is not there`);
  return at;
};
