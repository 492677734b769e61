import { mkdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { identified } from '../../../platform/isolation/identified.js';
import { Isolation } from '../../../platform/isolation/isolation.js';
import { covers, existing, writtenIn, type Mount } from '../../../platform/isolation/mounts.js';
import type { Identity } from '../../../platform/isolation/reach.js';
import type { Users } from '../../../platform/isolation/users.js';
import { StartError, type Sandbox } from '../../../platform/runtime/port.js';
import { listProcesses, type Markers, type ProcessTable } from '../../../platform/runtime/process-table.js';
import type { WayOut } from '../../../platform/isolation/network/inside.js';
import type { ProxyRules } from '../../../platform/isolation/network/proxy.js';
import { NetworkWalls, type Caller } from '../../../platform/isolation/network/walls.js';
import type { CityConfig, NetworkRule } from '../../files/composition/city-config.js';
import { isBelow } from '../../files/composition/trees/paths.js';
import { PROGRAMS, SIGN_INS } from '../../hosts/providers/probes/host-places.js';
import { AgentHost } from './agent-host.js';
import type { Template } from './launch.js';
import { LaunchRepository } from './launch.repository.js';
import { packDirectories } from './named-file.js';
import { networkOf } from './network.js';
import { mountsOfService, SERVICES, SOCKETS, type ServicePlace } from './service-place.js';
import { COMMANDS, SESSIONS, SessionFolders } from './session-folders.js';
import { openService, openTrees } from './session-trees.js';
import { WORKTREES, type Directories, type Places } from './work-dir.js';

/** What we know of files that we have laid into directories: whoever could change it could have them overwritten. */
const OVERLAYS = '.gc/runtime/overlays';
/** Of a city's directory: what the service keeps there of sessions, services and files, and shows to nobody. */
const HIDDEN = [OVERLAYS, SESSIONS, SERVICES] as const;
/** What it has under way there: files that an edit has taken away, and clones. */
const CACHE = '.gc/cache';

/** Who somebody is to git: commits of an agent without it fail. */
const GIT_IDENTITY = ['.gitconfig', '.config/git'];

/** What is run for a city without a session: each `owner` has a home of its own, which it finds again. */
export interface CommandPlace {
  readonly owner: string;
  /** Of its city. */
  readonly streamId: number;
  readonly template: Template;
  readonly config: CityConfig;
  readonly places: Places;
  readonly directories: Directories;
  readonly runtimeDir: string;
  /** What it has beside, where it goes on and is called from outside. */
  readonly service?: ServicePlace;
}

interface Session {
  readonly id: string;
  readonly pk: number;
  /** Of its city. */
  readonly streamId: number;
  readonly template: Template;
  readonly config: CityConfig;
  readonly places: Places;
  readonly directories: Directories;
  readonly runtimeDir: string;
  /** What marks the processes of this start. */
  readonly start: Markers;
}

/** What the processes of one session see of this host. */
@Injectable()
export class SessionSandboxes {
  constructor(
    private readonly app: AppConfig,
    private readonly isolation: Isolation,
    private readonly host: AgentHost,
    private readonly repository: LaunchRepository,
    private readonly folders: SessionFolders,
    private readonly walls: NetworkWalls,
  ) {}

  /** What is asked of a folder before it is made to work in: whoever is refused leaves none there. Undefined where nothing isolates. */
  async placeCheck(): Promise<Places['check']> {
    return (await this.isolation.found()).kind === 'none' ? undefined : checkPlace;
  }

  /** Undefined where nothing isolates. @throws StartError unsupported when something has to */
  async of(session: Session): Promise<Sandbox | undefined> {
    const { kind, why, users } = await this.isolation.found();
    const rules = networkOf(session.config, session.template);
    if (kind !== 'bubblewrap' && rules !== undefined) {
      const missing =
        kind === 'users'
          ? 'agents of this host are isolated by users'
          : `agents of this host are not isolated: ${why ?? 'SVC_RUNNER_ISOLATION=none'}`;
      throw new StartError('unsupported', `network is restricted for this session, and ${missing}`);
    }
    if (kind === 'none') return undefined;
    checkPlace(session.directories);
    const own = await this.#ownDirectory(session);
    if (users !== undefined) return this.#asUser(users, session, own);
    const whose = { city: session.places.cityName, session: session.id };
    return this.#inside(session, own, whose, rules && (await this.#wayOut(whose, rules)));
  }

  /**
   * Runs a command that is no session's behind the same walls. Where users are the walls it is a user whom nobody else has meanwhile, in
   * the group of its city, with a home that ends with it.
   *
   * @throws StartError unsupported when something has to isolate and cannot; what `work` throws
   */
  async aroundCommand<T>(command: CommandPlace, work: (sandbox: Sandbox | undefined, sockets: string) => Promise<T>): Promise<T> {
    const { sockets = '' } = command.service ?? {};
    const { kind, why, users } = await this.isolation.found();
    const rules = networkOf(command.config, command.template);
    if (kind !== 'bubblewrap' && rules !== undefined)
      throw new StartError(
        'unsupported',
        `network is restricted for this command, and ${kind === 'users' ? 'users are the walls here' : `nothing isolates here: ${why ?? 'SVC_RUNNER_ISOLATION=none'}`}`,
      );
    if (kind === 'none') return work(undefined, sockets);
    checkPlace(command.directories);
    if (users !== undefined) return this.#asLentUser(users, command, (sandbox) => work(sandbox, sockets));
    const own = await this.#folders(command.directories.city, path.join(COMMANDS, command.owner));
    const whose = { city: command.places.cityName, session: `${COMMANDS}/${command.owner}` };
    const around = async (wayOut: WayOut | undefined): Promise<T> => work(await this.#inside(command, own, whose, wayOut), SOCKETS);
    if (rules === undefined) return around(undefined);
    const { api, wanted } = this.#wanted(rules);
    return this.walls.during(whose, wanted, (socket) => around({ api, socket }));
  }

  /**
   * Where what commands of a city have left is looked for: where users are the walls, among what runs as one that it is lent.
   *
   * @throws StartError as `aroundCommand`
   */
  async tableOf(streamId: number): Promise<ProcessTable> {
    const { users } = await this.isolation.found();
    if (users === undefined) return listProcesses;
    const { group } = await this.#identity(users, streamId, 0);
    return () => users.runningFor(group);
  }

  async #asLentUser<T>(users: Users, command: CommandPlace, work: (sandbox: Sandbox | undefined) => Promise<T>): Promise<T> {
    const { streamId, config, places, directories, runtimeDir, service } = command;
    const what = service === undefined ? 'commands' : 'services';
    const { group } = await this.#identity(users, streamId, 0);
    const packs = await packDirectories(Object.keys(config.contents), places);
    await this.isolation.closeCities();
    const citiesRoot = await realpath(this.app.citiesRoot);
    // What it makes in the city belongs to the group, as what sessions make does.
    await openTrees(users, { user: users.lentTo(what)[0]!, group }, { citiesRoot, directories, runtimeDir, packs });
    if (service !== undefined) await openService(users, group, directories.city, service);
    return this.isolation.lent({ folders: [], group, what }, work);
  }

  /** @throws StartError not_found for a city that is not registered any more */
  async #identity(users: Users, streamId: number, session: number): Promise<Identity> {
    const city = await this.repository.cityId(streamId);
    if (city === undefined) throw new StartError('not_found', 'the city is not registered any more');
    return users.identityOf(city, session);
  }

  async #inside(
    session: Omit<CommandPlace, 'owner' | 'streamId'> & Partial<Pick<CommandPlace, 'owner'>>,
    own: string,
    whose: Caller,
    wayOut: WayOut | undefined,
  ): Promise<Sandbox | undefined> {
    const isIts = { mode: 'write', isOwn: true, isKept: true } as const;
    const its: Mount[] = [
      // Over the root nothing would be left of what is shown.
      ...(this.host.home === '/' ? [] : [{ at: this.host.home, from: path.join(own, 'home'), ...isIts }]),
      // Several commands of one owner may run at once.
      { at: '/tmp', from: path.join(own, 'tmp'), ...isIts, ...(session.owner !== undefined && { isContested: true }) },
    ];
    // An agent may have made a link of its home on a host where nothing isolated it.
    const mounts = [
      ...(await identified(its)),
      ...(await this.#ofHost(session)),
      ...(await identified([...(await this.#ofCity(session)), ...mountsOfService(session.service)])),
    ];
    return this.isolation.sandbox(mounts, wayOut, whose);
  }

  async #wayOut(whose: Caller, rules: readonly NetworkRule[]): Promise<WayOut> {
    const { api, wanted } = this.#wanted(rules);
    return { api, socket: await this.walls.of(whose, wanted) };
  }

  #wanted(rules: readonly NetworkRule[]): { readonly api: URL | undefined; readonly wanted: ProxyRules } {
    const url = this.host.apiUrl();
    const api = url === undefined ? undefined : new URL(url);
    return { api, wanted: { rules: rules.filter((rule) => rule !== 'all'), api } };
  }

  /**
   * What an earlier process of the session has left here is ended: its user is the same.
   *
   * @throws StartError aborted where a later start of the session runs: this one was given up, and goes on late
   */
  async #asUser(users: Users, { streamId, pk, config, places, directories, runtimeDir, start }: Session, own: string): Promise<Sandbox> {
    const identity = await this.#identity(users, streamId, pk);
    if (!(await users.end(identity.user, start))) throw new StartError('aborted', 'the session has been started again since');
    await this.isolation.closeCities();
    const citiesRoot = await realpath(this.app.citiesRoot);
    const packs = await packDirectories(Object.keys(config.contents), places);
    await openTrees(users, identity, { citiesRoot, directories, runtimeDir, packs, own });
    const itsOwn = { home: path.join(own, 'home'), tmp: path.join(own, 'tmp'), insteadOf: this.host.home };
    return users.sandbox(identity, itsOwn, start);
  }

  /**
   * Scripts that run sessions elsewhere need what a sandbox takes away: a server of a terminal multiplexer, containers. Answers which file is
   * started: a link in a city may lead elsewhere by then.
   *
   * @throws StartError unsupported where the network is restricted, and for one that the operator of this host has not named
   */
  async checkScript(script: string, network: readonly NetworkRule[] | undefined): Promise<string> {
    if (network !== undefined)
      throw new StartError('unsupported', `network is restricted for this session, and ${script} runs sessions where nothing restricts it`);
    const { kind, rules } = await this.isolation.found();
    if (kind === 'none') return script;
    const real = await realpath(script).catch(() => script);
    if (rules.scripts.includes(real) && !isBelow(await realpath(this.app.citiesRoot), real)) return real;
    const how = `name it, outside of the cities, under [runner] scripts in ${this.isolation.hostFile}`;
    throw new StartError('unsupported', `${script} would run outside of the sandbox, which the operator has to allow: ${how}`);
  }

  async #ofHost({ template, places }: Pick<Session, 'template' | 'places'>): Promise<Mount[]> {
    const { rules } = await this.isolation.found();
    const ofHome = (at: string): string => path.join(homedir(), at);
    // Without keys whoever reaches the service is who runs it: their sign-ins are their own.
    const own = this.app.auth === 'off';
    const signIns = own && template.preset !== undefined ? (SIGN_INS[template.preset] ?? []) : [];
    const named = rules.visible.filter(
      ({ presets, cities }) =>
        (presets === undefined || (template.preset !== undefined && presets.includes(template.preset))) &&
        (cities === undefined || cities.includes(places.cityName)),
    );
    const changeable = await this.isolation.changeable(own ? Object.values(SIGN_INS).flatMap((all) => all.map(ofHome)) : []);
    const mounts = await Promise.all([
      ...[...this.host.programs(), ...this.host.authorities()].map((at) => existing(at, 'read')),
      ...[...PROGRAMS, ...(own ? GIT_IDENTITY : [])].map((at) => existing(ofHome(at), 'read', changeable)),
      ...signIns.map((at) => existing(ofHome(at), 'write', changeable)),
      ...named.map(({ path: at, write }) => existing(at, write ? 'write' : 'read', changeable)),
    ]);
    return mounts.flat();
  }

  async #ofCity({
    config,
    places,
    directories: { city, rigRoot, workDir },
    runtimeDir,
  }: Omit<CommandPlace, 'owner' | 'streamId'>): Promise<Mount[]> {
    const inside = (at: string): string => path.join(city, at);
    // Also what is not there yet: it would be seen by whoever began before it is made.
    await Promise.all([WORKTREES, OVERLAYS, SERVICES].map((at) => mkdir(inside(at), { recursive: true })));
    const packs = await packDirectories(Object.keys(config.contents), places);
    return [
      ...packs.map((at): Mount => ({ at, mode: 'read' })),
      { at: city, mode: workDir === city ? 'write' : 'read' },
      ...(rigRoot === undefined ? [] : [writtenIn(city, rigRoot)]),
      ...(workDir === city ? [] : [writtenIn(city, workDir)]),
      { at: inside('.gc'), mode: 'read', isKept: true },
      { at: inside(WORKTREES), mode: 'write', isKept: true },
      { at: runtimeDir, mode: 'write', ...(path.dirname(runtimeDir) === inside('.gc') && { isKept: true }) },
      ...HIDDEN.map((at): Mount => ({ at: inside(at), mode: 'hidden', isKept: true })),
    ];
  }

  /** Its home and its `/tmp`, which last as long as the session. Those of sessions that are over go with the next start. */
  async #ownDirectory({ id, streamId, places: { cityName }, directories: { city } }: Session): Promise<string> {
    const own = await this.#folders(city, id);
    const { open } = await this.folders.sweep(city, streamId, id);
    this.walls.closeOthers(cityName, new Set([id, ...open]));
    return own;
  }

  async #folders(city: string, name: string): Promise<string> {
    const all = path.join(city, SESSIONS);
    const own = path.join(all, name);
    await mkdir(path.dirname(own), { recursive: true, mode: 0o700 });
    // A link would have folders made, and removed, where it leads.
    if ((await realpath(path.dirname(own))) !== path.dirname(own))
      throw new StartError('unsupported', `${path.dirname(own)} is a link, or lies behind one`);
    await Promise.all(['home', 'tmp'].map((each) => mkdir(path.join(own, each), { recursive: true, mode: 0o700 })));
    return own;
  }
}

/**
 * Whoever works in a folder sees and writes it, also below one that is hidden: secrets of services lie there.
 *
 * @throws StartError unsupported where no session works
 */
function checkPlace({ city, rigRoot, workDir }: Directories): void {
  const wanted = [workDir, ...(rigRoot === undefined ? [] : [rigRoot])].find(
    (at) => at === path.join(city, '.gc') || [...HIDDEN, CACHE].some((ours) => covers(path.join(city, ours), at)),
  );
  if (wanted !== undefined) throw new StartError('unsupported', `no session works in ${wanted}: what is there is the service's`);
}
