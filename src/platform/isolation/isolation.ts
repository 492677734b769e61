import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import { AppLogger } from '../logging/logger.js';
import type { Sandbox } from '../runtime/port.js';
import { isHostShort } from '../runtime/shortages.js';
import { Bubblewrap } from './bubblewrap.js';
import { CityWay } from './city-way.js';
import { hostFileOf, readHostFile, type HostRules } from './host-file.js';
import { asLentUser, endLeft, type LentWork } from './lent-user.js';
import { UNLIMITED, type LimitsBy } from './limits-by.js';
import type { Changeable, Mount } from './mounts.js';
import { insideOf, type WayOut } from './network/inside.js';
import type { Caller } from './network/walls.js';
import { OfAMoment } from './probe.js';
import { Users } from './users.js';

/** Lines a start of what was moved away: an agent that still runs may go on. */
const MAX_LINES = 10;

export type IsolationKind = 'bubblewrap' | 'users' | 'none';

interface Found {
  readonly kind: IsolationKind;
  /** Why there is none although it was to be the best there is. */
  readonly why: string | undefined;
  readonly rules: HostRules;
  readonly bubblewrap?: Bubblewrap;
  readonly users?: Users;
}

const limitsOf = ({ bubblewrap, users }: Found): LimitsBy => (bubblewrap ?? users)?.limitsBy ?? UNLIMITED;

/** What stands between the programs that are run for cities and the rest of this host. */
@Injectable()
export class Isolation implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly hostFile: string;
  #way: CityWay | undefined;
  #found: Promise<Found> | undefined;
  /** It has started without knowing how it isolates. */
  #untold = false;
  #toldOfNetwork = false;
  readonly #toldOf = new Set<string>();

  constructor(
    private readonly config: AppConfig,
    private readonly log: AppLogger,
  ) {
    this.hostFile = hostFileOf(config);
  }

  /** A host that cannot give what its operator wants does not start. One that is out of something just now answers requests all the same. */
  async onApplicationBootstrap(): Promise<void> {
    const found = await this.found().catch((error: unknown) => {
      if (this.config.role !== 'api' || !(error instanceof OfAMoment)) throw error;
      this.log.warn({ err: error }, 'git is refused until this host says how it can be isolated');
      this.#untold = true;
    });
    if (found === undefined) return;
    this.#tell(found);
    // Nobody waits for it: whoever is lent one of them ends first what is left.
    if (found.users !== undefined && this.#runsAgents) void this.#endLeft(found.users);
  }

  get #runsAgents(): boolean {
    return this.config.role !== 'api' && this.config.runnerCapacity > 0;
  }

  /** What its operator is to know, once a process. */
  #tell(found: Found): void {
    const { kind, why, bubblewrap } = found;
    const runsAgents = this.#runsAgents;
    const what = runsAgents ? 'agents are' : 'git is';
    const limits = limitsOf(found);
    if (kind !== 'none' && limits.processes === 'none')
      this.log.warn('how many processes agents start is NOT limited: the service is root, and may make no groups (cgroups) for them');
    if (kind !== 'none') this.log.info({ isolation: kind, limits }, `${what} isolated`);
    else
      this.log.warn(
        { isolation: kind, why: why ?? 'SVC_RUNNER_ISOLATION=none' },
        `${what} NOT isolated: ${runsAgents ? 'they' : 'it'} can do what this service can`,
      );
    if (bubblewrap?.nests === false && runsAgents)
      this.log.warn(
        'this host allows no sandbox within another one: while a program begins, whoever writes in its home can have empty files and folders made elsewhere',
      );
    if (bubblewrap?.leavesKernel)
      this.log.warn(
        'this host does not let /proc/sys be mounted read-only: the service is root, and so what is isolated can change settings of the kernel',
      );
  }

  async #endLeft(users: Users): Promise<void> {
    try {
      const ended = await endLeft(users, (folder) => this.#isFull(folder));
      if (ended.length > 0) this.log.warn({ users: ended }, 'what a process that was killed had run outside of sessions was ended');
    } catch (error) {
      this.log.warn({ err: error }, 'what a process that was killed has left outside of sessions could not be ended');
    }
  }

  onApplicationShutdown(): void {
    this.#way?.leave();
    this.#way = undefined;
  }

  /** Where users are the walls: no city that has come meanwhile is open to those of others. */
  async closeCities(): Promise<void> {
    await this.#way?.closeCities();
  }

  /**
   * Found once a process.
   *
   * @throws Error when the isolation that the operator wants cannot be had, or the host's file is wrong; OfAMoment when the host is out of
   * something just now: whoever asks next has it looked for again
   */
  found(): Promise<Found> {
    return (this.#found ??= this.#firstFound().catch((error: unknown) => {
      if (error instanceof OfAMoment) this.#found = undefined;
      throw error;
    }));
  }

  /** Found by whoever asks first. A process that could not tell at its start how it isolates tells it then. */
  async #firstFound(): Promise<Found> {
    const found = await this.#find();
    if (this.#untold) this.#tell(found);
    return found;
  }

  /** Where agents of this host may write: what is shown of it is not looked for behind a link of theirs. @param more as they are spelled */
  async changeable(more: readonly string[] = []): Promise<Changeable> {
    const { rules } = await this.found();
    const written = rules.visible.filter(({ write }) => write).map(({ path: at }) => at);
    const all = [this.config.citiesRoot, ...this.config.allowedPaths, ...written, ...more];
    const real = await Promise.all(all.map((at) => realpath(at).catch(() => undefined)));
    return { folders: real.filter((at) => at !== undefined), onLink: (at, link) => this.#tellOfLink(at, link) };
  }

  /** Once for each path: each start would say it again. */
  #tellOfLink(at: string, link: string): void {
    if (this.#toldOf.has(at)) return;
    this.#toldOf.add(at);
    const how =
      'an agent may have made it; where an operator did, name less in SVC_ALLOWED_PATHS, or the path that it leads to in host.toml';
    this.log.warn({ path: at, link }, `agents do not see a path of the host behind a link in a folder where agents may write (${how})`);
  }

  /** What limits what is run for cities on this host. */
  async limitsBy(): Promise<LimitsBy> {
    return limitsOf(await this.found());
  }

  /**
   * Undefined where there are no namespaces.
   *
   * @param wayOut all that it has of the network, or `none` where the host can keep it off; the host's unless given
   * @param whose for the log
   */
  async sandbox(mounts: readonly Mount[], wayOut?: WayOut | 'none', whose?: Caller): Promise<Sandbox | undefined> {
    const { bubblewrap } = await this.found();
    const network = wayOut === 'none' ? await bubblewrap?.noNetwork() : wayOut && insideOf(wayOut);
    if (bubblewrap !== undefined && wayOut === 'none' && network === undefined && !this.#toldOfNetwork) {
      this.#toldOfNetwork = true;
      this.log.warn('this host allows no namespaces for the network: git that calls nobody has the network of the host');
    }
    const hint = `name its folder under [[runner.visible]] in ${this.hostFile}`;
    let lines = 0;
    return bubblewrap?.sandbox(mounts, hint, network, (at, away) => {
      if (lines >= MAX_LINES) return;
      const what = 'what an agent had where something of the host is shown in its home was moved away';
      this.log.warn({ ...whose, path: at, away }, ++lines < MAX_LINES ? what : `${what}; no more is told of it`);
    });
  }

  /**
   * Runs what belongs to no session: where users are the walls, as one whom nobody else has meanwhile. Elsewhere without a sandbox of its
   * own. @throws StartError as `asLentUser`
   */
  async lent<T>(lent: Omit<LentWork, 'below' | 'full'>, work: (sandbox: Sandbox | undefined, home?: string) => Promise<T>): Promise<T> {
    const { users } = await this.found();
    if (users === undefined) return work(undefined);
    return asLentUser(users, { ...lent, below: await realpath(this.config.citiesRoot), full: (folder) => this.#isFull(folder) }, work);
  }

  /** Once for each folder: each command would say it again. */
  #isFull(folder: string): void {
    if (this.#toldOf.has(folder)) return;
    this.#toldOf.add(folder);
    this.log.warn({ folder }, 'too much lies in a folder for everybody: what commands have left there may stay, and be read by later ones');
  }

  /** The city whose users share this place: its group, where users are the walls and it has been opened for them. */
  async groupOf(place: string): Promise<number | undefined> {
    const { users } = await this.found();
    if (users === undefined) return undefined;
    const found = await lstat(place).catch(() => undefined);
    return found !== undefined && users.isCity(found.gid) ? found.gid : undefined;
  }

  async #find(): Promise<Found> {
    const rules = await readHostFile(this.hostFile);
    const wanted = this.config.isolation;
    if (wanted === 'none') return { kind: 'none', why: undefined, rules };
    const why: string[] = [];
    for (const kind of wanted === 'auto' ? (['bubblewrap', 'users'] as const) : [wanted]) {
      try {
        return { kind, why: undefined, rules, [kind]: await this.#tried(kind, rules) };
      } catch (error) {
        const said = error instanceof Error ? error.message : String(error);
        // What is found stands for as long as this process lives, and none of this host's cities is to be open to others for a moment's sake.
        if (error instanceof OfAMoment || isHostShort(error))
          throw new OfAMoment(
            `which isolation this host allows cannot be found out just now: ${said}; if that stays, raise [runner.limits] processes of ${this.hostFile}, or say SVC_RUNNER_ISOLATION=${kind === 'bubblewrap' ? 'users or none' : 'none'}`,
            { cause: error },
          );
        if (wanted !== 'auto') throw new Error(`SVC_RUNNER_ISOLATION=${wanted} cannot be had on this host: ${said}`, { cause: error });
        // An operator who has named no numbers for it does not miss it.
        if (kind === 'bubblewrap' || rules.users !== undefined) why.push(said);
      }
    }
    return { kind: 'none', why: why.join('; '), rules };
  }

  async #tried(kind: 'bubblewrap' | 'users', rules: HostRules): Promise<Bubblewrap | Users> {
    if (kind === 'bubblewrap') return Bubblewrap.tryOn(rules.limits, path.join(this.config.dataDir, 'isolation'));
    const users = await Users.tryOn(rules, this.hostFile);
    this.#way = await CityWay.open(this.config, users);
    return users;
  }
}
