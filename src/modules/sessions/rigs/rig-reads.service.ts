import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { processAnswering } from '../../../platform/disk/answering.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import { atOnce } from '../../../platform/time/at-once.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { placesOf, type Bearer } from '../agents/agent-lines.js';
import type { AgentConfig, RigConfig } from '../../files/composition/city-config.js';
import { pageAfter } from '../../configuration/config/page.js';
import { ConfigReadsService, type CurrentConfig } from '../../configuration/config/config-reads.service.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { RigGit } from './rig-git.js';
import { RigPlaces } from './rig-places.js';
import { requireRig } from './rig-rules.js';
import { toRig } from './rigs.mapper.js';
import { RigsRepository, type RigActivity } from './rigs.repository.js';
import type { GitStatus, ListBodyRigResponse, RigResponse, RigsQuery } from './rigs.schemas.js';

/** A read with the head of the city's log that belongs to it. */
export interface RigRead<T> {
  readonly body: T;
  readonly index: number;
}

/** A look at a directory that has not ended. */
interface Look {
  readonly at: number;
  readonly status: Promise<GitStatus | undefined>;
}

/** Repositories looked at in one request at a time, and how long all of them may take. */
const GIT_AT_ONCE = 4;
const GIT_MS = 3_000;
/** So many that are late keep a thread each, of which a process has few. Beyond it nothing is looked at that may become one. */
const MOST_LATE = 4;
/** Directories that are looked for at a time, for all requests: each may turn out to be late. */
const MOST_FINDING = 8;
const CACHED = 256;

@Injectable()
export class RigReadsService {
  /** By stream: as long as the log has not moved on, no bead has. */
  readonly #activity = new Map<number, RigActivity>();
  /** Replaced in tests. */
  answering = processAnswering;
  /** Replaced in tests. */
  gitMs = GIT_MS;
  /** By city and directory. */
  readonly #looks = new Map<string, Look>();
  /** Directories that are being looked for, in time or late, and who waits to look for another one. */
  #finding = 0;
  #waiting: (() => void)[] = [];

  constructor(
    private readonly places: RigPlaces,
    private readonly reads: ConfigReadsService,
    private readonly roster: RosterService,
    private readonly repository: RigsRepository,
    private readonly git: RigGit,
    private readonly heads: HeadWaiter,
  ) {}

  /** The rigs now, or once the city's log has moved beyond `index`, in the order of the files. */
  async list(city: CityScope, query: RigsQuery, gone: AbortSignal): Promise<RigRead<ListBodyRigResponse>> {
    let current = await this.reads.current(city);
    if (await this.heads.readAgain(city.stream, current.index, query, gone)) current = await this.reads.current(city);
    const all = await this.#describe(city, current, current.config.rigs, query.git);
    const { items, next } = pageAfter(all, query, current.revision);
    return { body: { items, total: all.length, ...next }, index: current.index };
  }

  /** @throws ProblemError rig_not_found */
  async get(city: CityScope, name: string, git: boolean): Promise<RigRead<RigResponse>> {
    const current = await this.reads.current(city);
    const [item] = await this.#describe(city, current, [requireRig(current.config, name)], git);
    return { body: item!, index: current.index };
  }

  async #describe(city: CityScope, current: CurrentConfig, rigs: readonly RigConfig[], git: boolean): Promise<RigResponse[]> {
    const [known, switches, activity, bearers, repositories] = await Promise.all([
      this.roster.rigs(city.streamId),
      this.roster.switches(city.streamId),
      this.#newest(city, current.index),
      this.repository.bearers(city.streamId),
      git ? this.#repositories(city, rigs) : undefined,
    ]);
    // Each rig has its own at once: there may be thousands of both.
    const agents = Map.groupBy(current.config.agents, ({ dir }) => dir);
    const byAgent = Map.groupBy(bearers, ({ agent }) => agent);
    const prefixes = new Map(known.map((rig) => [rig.name, rig.prefix]));
    return rigs.map((rig) =>
      toRig(rig, {
        prefix: prefixes.get(rig.name),
        switched: switches.rigs.get(rig.name),
        lastActivity: activity.newest.get(rig.name),
        places: placesIn(agents.get(rig.name) ?? [], byAgent),
        git: repositories?.get(rig.name),
      }),
    );
  }

  /** Counting a hundred thousand beads costs tens of milliseconds: it is done once a position of the log. */
  async #newest(city: CityScope, index: number): Promise<RigActivity> {
    const known = this.#activity.get(city.streamId);
    if (known !== undefined && known.head === index) return known;
    const found = await this.repository.activity(city.streamId);
    this.#activity.delete(city.streamId);
    this.#activity.set(city.streamId, found);
    if (this.#activity.size > CACHED) this.#activity.delete(this.#activity.keys().next().value!);
    return found;
  }

  /** What git says of each rig's directory; nothing for one that it cannot, or not in time. */
  async #repositories(city: CityScope, rigs: readonly RigConfig[]): Promise<Map<string, GitStatus>> {
    const found = new Map<string, GitStatus>();
    const signal = AbortSignal.timeout(this.gitMs);
    const over = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
    const look = async (rig: RigConfig): Promise<void> => {
      const status = await this.#inTime(city, rig, over);
      if (status !== undefined) found.set(rig.name, status);
    };
    await atOnce(GIT_AT_ONCE, rigs, look, signal);
    return found;
  }

  /** A disk that does not answer keeps nobody: it is asked first, and one that a link leads to is looked at once, whoever wants to know. */
  async #inTime(city: CityScope, { path: written }: RigConfig, over: Promise<undefined>): Promise<GitStatus | undefined> {
    if (written === undefined) return undefined;
    const at = path.resolve(city.path, written);
    if (!(await this.answering.answers(at, this.gitMs))) return undefined;
    const name = `${city.name} ${at}`;
    while (!this.#looks.has(name) && this.#finding >= MOST_FINDING && !this.#areManyLate()) {
      const freed = new Promise<true>((resolve) => void this.#waiting.push(() => resolve(true)));
      if ((await Promise.race([freed, over])) === undefined) return undefined;
    }
    const look = this.#looks.get(name) ?? this.#look(city, written, name);
    return look === undefined || this.#isLate(look) ? undefined : Promise.race([look.status, over]);
  }

  /** Undefined while too many are late. */
  #look(city: CityScope, written: string, name: string): Look | undefined {
    if (this.#areManyLate()) return undefined;
    const status = this.#statusOf(city, written, AbortSignal.timeout(this.gitMs))
      .catch(() => undefined)
      .finally(() => this.#looks.delete(name));
    const look = { at: performance.now(), status };
    this.#looks.set(name, look);
    return look;
  }

  #areManyLate(): boolean {
    return [...this.#looks.values()].filter((look) => this.#isLate(look)).length >= MOST_LATE;
  }

  /** Who asked first has gone. */
  #isLate({ at }: Look): boolean {
    return performance.now() - at > this.gitMs;
  }

  /** Only where rigs may lie: a file may name any directory. */
  async #statusOf(city: CityScope, written: string, signal: AbortSignal): Promise<GitStatus | undefined> {
    const directory = await this.#find(city, written);
    return directory === undefined ? undefined : this.git.status(directory, signal);
  }

  async #find(city: CityScope, written: string): Promise<string | undefined> {
    this.#finding++;
    try {
      return await this.places.ofRig(written, city, (root) => this.answering.answers(root, this.gitMs));
    } finally {
      this.#finding--;
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }
}

/** Of all agents of a rig, as their list has them. */
function placesIn(
  agents: readonly AgentConfig[],
  byAgent: ReadonlyMap<string, readonly Bearer[]>,
): { readonly total: number; readonly running: number } {
  const places = agents.map((agent) => placesOf(agent, byAgent.get(agent.qualified_name) ?? []));
  return {
    total: places.reduce((sum, { total }) => sum + total, 0),
    running: places.reduce((sum, { running }) => sum + running, 0),
  };
}
