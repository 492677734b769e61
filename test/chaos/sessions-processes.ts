import { readdirSync, readFileSync } from 'node:fs';
import type { ChaosPostgres } from './servers.js';
import type { AgentProcess, Sample } from './sessions-history.js';

const LOOKS = 8;

interface Seen {
  readonly pid: number;
  readonly birth: string;
  readonly group: number;
}

/** Reads the process table of this machine, with eyes of its own, for the agents of one database. */
export class ProcessWatch {
  /** Processes that have been looked at often enough: what they carry does not change any more. */
  readonly #others = new Map<string, number>();
  readonly #ours = new Map<string, AgentProcess>();
  #timer: NodeJS.Timeout | undefined;
  last: readonly AgentProcess[] = [];

  constructor(
    private readonly deployment: string,
    private readonly now: () => number,
    private readonly samples: Sample[],
  ) {}

  static async of(postgres: ChaosPostgres, database: string, now: () => number, samples: Sample[]): Promise<ProcessWatch> {
    const [row] = await postgres.query<{ id: string }>('select deployment_id()::text as id', [], database);
    return new ProcessWatch(row!.id, now, samples);
  }

  start(everyMs: number): void {
    this.#timer = setInterval(() => this.samples.push(this.sample()), everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Processes that were found, and were still there when all had been found: at that moment all of them were alive. */
  sample(): Sample {
    const found = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (this.#agent(Number(name)) ?? []) : []));
    const at = this.now();
    this.last = found.filter((one) => look(one.pid)?.birth === one.birth);
    return { at, processes: this.last };
  }

  /** What a killed worker may have left when a run is broken off. */
  endAll(): void {
    for (const { pid } of this.sample().processes) process.kill(pid, 'SIGKILL');
  }

  #agent(pid: number): AgentProcess | undefined {
    const seen = look(pid);
    if (seen === undefined) return undefined;
    const key = `${pid}/${seen.birth}`;
    const looks = this.#others.get(key) ?? 0;
    if (looks >= LOOKS) return undefined;
    const known = this.#ours.get(key);
    if (known !== undefined) return known;
    const env = environment(pid);
    const [session, generation] = [env.get('SVC_SESSION_ID'), Number(env.get('SVC_GENERATION'))];
    if (env.get('SVC_DEPLOYMENT') !== this.deployment || session === undefined) {
      this.#others.set(key, looks + 1);
      return undefined;
    }
    const agent = { ...seen, session, generation };
    this.#ours.set(key, agent);
    return agent;
  }
}

/** Undefined when there is none, or nothing but its entry in the table. */
function look(pid: number): Seen | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const [state, , group, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' || state === 'X' ? undefined : { pid, group: Number(group), birth: rest[16]! };
}

function environment(pid: number): Map<string, string> {
  const lines = (read(`/proc/${pid}/environ`) ?? '').split('\0');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const));
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
