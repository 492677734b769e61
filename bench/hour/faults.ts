import type { Client } from '../../src/client/index.js';
import { edit, noticed, spread } from '../cities/looking.js';
import { sleep } from '../lib/machine.js';
import { options } from './options.js';
import type { System } from './system.js';
import type { Working } from './working.js';

/** What happens meanwhile, as it does in real life. Each says in words what came of it. */
export class Faults {
  readonly log: { readonly at: number; readonly until: number; readonly what: string }[] = [];
  /** Seconds since 1970 at which a worker was killed, and by when all it had was taken over. */
  readonly kills: { readonly from: number; readonly to: number; readonly held: ReadonlySet<string> }[] = [];
  readonly failed: string[] = [];
  /** Whether something happens now. */
  busy = false;
  #turn = 0;

  constructor(
    private readonly system: System,
    private readonly client: Client,
    private readonly cities: readonly string[],
    private readonly working: Working,
    private readonly say: (text: string) => void,
  ) {}

  async next(): Promise<void> {
    const name = options.faults[this.#turn++ % options.faults.length];
    const all: Readonly<Record<string, () => Promise<string>>> = {
      config: () => this.#config(),
      kill: () => this.#kill(),
      resize: () => this.#resize(),
      redis: () => this.#redis(),
      api: () => this.#api(),
    };
    const fault = name === undefined ? undefined : all[name];
    if (fault === undefined) return;
    const at = performance.now();
    this.busy = true;
    const what = await fault().catch((error: unknown) => {
      this.failed.push(`${name}: ${String(error)}`);
      return `${name} failed: ${String(error)}`;
    });
    this.busy = false;
    this.log.push({ at, until: performance.now(), what });
    this.say(what);
  }

  /** Another variable for all that run in five cities: their sessions are started again between two turns. */
  async #config(): Promise<string> {
    const since = performance.now();
    const edited = new Map<string, string>();
    for (const city of spread(this.cities, 5)) edited.set(city, await edit(this.system.dataDir, city));
    const took = await noticed(this.system.apis[0]!.program, edited, { since, withinMs: 60_000, everyMs: 50 });
    if (took.includes(Infinity)) throw new Error('an edited file is not used');
    return `${edited.size} configurations edited: used after ${Math.max(...took).toFixed(0)} ms at the latest`;
  }

  async #kill(): Promise<string> {
    const { system } = this;
    const place = system.workers[Math.floor(this.#turn / options.faults.length) % system.workers.length]!;
    const runners = await system.rows<{ id: string; pks: string[]; sessions: string[] }>(
      `select r.id, array_agg(s.pk) as pks, array_agg(e.name || '/' || s.id) as sessions from runners r join sessions s on s.runner_id = r.id
       join event_streams e on e.id = s.stream_id where r.process_id = $1 group by r.id`,
      [place.id],
    );
    const held = new Set(runners.flatMap(({ sessions }) => sessions));
    const from = Date.now() / 1000;
    const since = performance.now();
    await place.program.end('SIGKILL');
    const lost = runners.map(({ id }) => id);
    const taken = await this.#until(180_000, async () => {
      const [row] = await system.rows<{ n: number }>(
        `select count(*)::int as n from sessions where pk = any($1::bigint[]) and kind = 'provider' and state <> 'closed'
         and (not live or state <> 'active' or runner_id = any($2))`,
        [runners.flatMap(({ pks }) => pks), lost],
      );
      return row!.n === 0;
    });
    await place.start();
    this.kills.push({ from, to: Date.now() / 1000, held });
    if (taken === undefined) throw new Error(`what ${place.name} had is not taken over`);
    return `kill -9 of ${place.name} with ${held.size} sessions: all run again elsewhere after ${((taken - since) / 1000).toFixed(1)} s`;
  }

  async #resize(): Promise<string> {
    const some = spread(this.cities, 10);
    const size = async (most: number): Promise<void> => {
      for (const cityName of some)
        await this.client.patch('/v0/city/{cityName}/agent/{base}', {
          path: { cityName, base: 'hand' },
          body: { max_active_sessions: most },
        });
    };
    await size(options.pool * 2);
    for (const city of some) await this.working.heap(city, options.pool * 4);
    let most = 0;
    const until = performance.now() + 15_000;
    while (performance.now() < until) {
      const [row] = await this.system.rows<{ n: number }>(
        `select coalesce(max(n), 0)::int as n from (select count(*) as n from sessions where agent = 'hand' and live group by stream_id) c`,
      );
      most = Math.max(most, row!.n);
      await sleep(500);
    }
    await size(options.pool);
    return `pools of ${some.length} cities resized to ${options.pool * 2} and back: ${most} members at once`;
  }

  async #redis(): Promise<string> {
    await this.system.restartRedis(3_000);
    return 'Redis away for 3 s, and back empty';
  }

  async #api(): Promise<string> {
    const { apis } = this.system;
    const place = apis.at(Math.floor(this.#turn / options.faults.length) % apis.length)!;
    await place.program.end('SIGTERM');
    await place.start();
    return `${place.name} replaced: ready again after ${(place.program.readyMs / 1000).toFixed(1)} s`;
  }

  async #until(withinMs: number, holds: () => Promise<boolean>): Promise<number | undefined> {
    const limit = performance.now() + withinMs;
    while (performance.now() < limit) {
      if (await holds()) return performance.now();
      await sleep(250);
    }
    return undefined;
  }
}
