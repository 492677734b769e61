import { join } from 'node:path';
import { HEAP, MALLOC, POOL } from '../../src/entry/memory-settings.js';
import { Child, ROOT } from './child.js';
import { freePort, SERVER_CORE, sleep } from './machine.js';

export interface ServiceOptions {
  readonly databaseUrl: string;
  readonly tempDir: string;
  readonly role?: 'api' | 'all';
  readonly core?: number | undefined;
  readonly flags?: readonly string[];
  /** One that is free unless given. */
  readonly port?: number;
  /** Settings beside those that every service of the bench has. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProbeReading {
  /** Milliseconds that timers were late. */
  readonly loopP50: number;
  readonly loopP99: number;
  readonly loopMax: number;
  readonly queries: readonly (readonly [string, number])[];
}

const READY_WITHIN_MS = 30_000;
let started = 0;

/** One process of the product as an operator runs it: built, with everything on, its log going nowhere. */
export class Service {
  private constructor(
    readonly child: Child,
    readonly port: number,
  ) {}

  static async start(options: ServiceOptions): Promise<Service> {
    const port = options.port ?? (await freePort());
    const child = Child.spawn({
      name: `service-${++started}`,
      command: [
        process.execPath,
        // Where it starts itself once more it loses the channel by which it is asked.
        ...HEAP,
        ...(options.flags ?? []),
        '--import',
        join(ROOT, 'bench/probe.mjs'),
        join(ROOT, 'dist/src/entry/serve.js'),
      ],
      core: 'core' in options ? options.core : SERVER_CORE,
      tempDir: options.tempDir,
      env: {
        ...MALLOC,
        ...POOL,
        NODE_ENV: 'production',
        SVC_ROLE: options.role ?? 'api',
        SVC_PORT: String(port),
        SVC_DATABASE_URL: options.databaseUrl,
        SVC_DATA_DIR: join(options.tempDir, 'data'),
        // One client makes all requests here, and opens all streams.
        SVC_RATE_LIMIT_KEY: '0',
        SVC_STREAMS_PER_KEY: '100000',
        ...profile(),
        ...options.env,
      },
    });
    const limit = Date.now() + READY_WITHIN_MS;
    while (!(await answers(port))) {
      if (!child.running) throw new Error(`the service does not start:\n${child.lastLines()}`);
      if (Date.now() > limit) {
        await child.stop();
        throw new Error(`the service is not ready after ${READY_WITHIN_MS} ms:\n${child.lastLines()}`);
      }
      await sleep(50);
    }
    return new Service(child, port);
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Counts from now on; with `loop`, at the price of a timer a millisecond, event loop delays too. */
  reset(options: { loop: boolean } = { loop: false }): Promise<void> {
    return this.child.call('reset', options);
  }

  read(): Promise<ProbeReading> {
    return this.child.call('read');
  }

  stop(): Promise<void> {
    return this.child.stop();
  }
}

/** BENCH_NODE_OPTIONS reaches the product's processes only, for example `--cpu-prof --cpu-prof-dir=/tmp/profiles`. */
function profile(): Record<string, string> {
  const given = process.env.BENCH_NODE_OPTIONS;
  return given === undefined ? {} : { NODE_OPTIONS: given };
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}
