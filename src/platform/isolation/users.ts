import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartError, UnconfirmedDead, type Program, type Sandbox } from '../runtime/port.js';
import { listProcesses, markersOf, type Markers, type TableEntry } from '../runtime/process-table.js';
import { isProgram, programsNamed } from '../runtime/programs.js';
import { GIVE_NAMES } from './given-names.js';
import type { HostRules, Range } from './host-file.js';
import { hostLock, type HostLock } from './host-lock.js';
import { runsAgain } from './later-start.js';
import { limitsBy, sayStarved, type LimitsBy } from './limits-by.js';
import { failedProbe, wasKilled } from './probe.js';
import { ProcessGroups } from './process-groups.js';
import { closedFor, type Identity } from './reach.js';

const PROBE_MS = 10_000;
const CONFIRM_MS = 10_000;
const LOOK_MS = 20;
/** At the longest, by chance, so that two do not get in each other's way again. */
const AGAIN_MS = 100;
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin'];
const TOOLS = ['setpriv', 'prlimit', 'nice', 'flock'] as const;
type Tools = Readonly<Record<(typeof TOOLS)[number], string>>;
/** Outside, as root: goes into the group that limits all of it, where there is one. */
const OUTSIDE = `test -z "$0" || echo 0 >"$0" || exit 126; exec "$@"`;
/**
 * Inside, as the session's user: goes into the directory, which may be a link by now to one that only root reaches, gives the variables their
 * names, and lets its city's group write what it makes.
 */
const INSIDE = `umask 007; cd -P -- "$SVC_DIR_OF" || exit 126; unset SVC_DIR_OF OLDPWD; ${GIVE_NAMES}exec "$@"`;
const OURS = /^SVC_/;
const NAME = /^[A-Za-z_]\w*$/;
/**
 * The last numbers of sessions are for what is run outside of sessions, one user for each run at a time: git and probes, and, apart from
 * them because they may take long, commands of orders and checks, and services, which go on. Of these as many as a worker has places for.
 */
export const LENT = { host: 16, commands: 48, services: 64 } as const;
const KEPT = Object.values(LENT).reduce((sum, count) => sum + count, 0);

/** What a user is lent for. */
export type LentFor = keyof typeof LENT;

/** What a session has for itself. */
export interface Own {
  readonly home: string;
  readonly tmp: string;
  /** The home directory that its environment names and that it is not to have. */
  readonly insteadOf: string;
}

/**
 * Walls made by users of the system: what runs for a session has a user of its own, the group of its city and no way to another
 * one. The numbers come from those of the session and of the city, which are never used again: nobody hands them out, they are the same on
 * all hosts, and what an earlier session has left is never somebody else's.
 */
export class Users {
  readonly #endings = new Map<string, Promise<boolean>>();

  private constructor(
    private readonly tools: Tools,
    private readonly limits: HostRules['limits'],
    private readonly ranges: NonNullable<HostRules['users']>,
    private readonly hostFile: string,
    private readonly groups: ProcessGroups | undefined,
  ) {}

  /** What limits what is run as one of them. */
  get limitsBy(): LimitsBy {
    return limitsBy(this.groups?.counted, true);
  }

  /**
   * Tries it with everything that a session's program gets.
   *
   * @param setpriv another one, for tests
   * @throws Error that says why this host cannot; OfAMoment where it may be able to in another moment
   */
  static async tryOn({ limits, users: ranges }: Pick<HostRules, 'limits' | 'users'>, hostFile: string, setpriv?: string): Promise<Users> {
    if (process.platform !== 'linux') throw new Error('only Linux has it');
    if (process.getuid?.() !== 0) throw new Error('the service is not root, and cannot start programs as other users');
    if (ranges === undefined) throw new Error(`${hostFile} names no [users] with the numbers for it`);
    if (ranges.sessions.count <= KEPT)
      throw new Error(`[users] sessions of ${hostFile} has too few numbers: what is run outside of sessions takes ${KEPT}`);
    await refuseTaken(ranges.sessions, '/etc/passwd', hostFile, 'sessions');
    await refuseTaken(ranges.cities, '/etc/group', hostFile, 'cities');
    const found = await Promise.all(TOOLS.map(async (tool) => [tool, await toolAt(tool)] as const));
    const tools = { ...(Object.fromEntries(found) as Tools), ...(setpriv !== undefined && { setpriv }) };
    const users = new Users(tools, limits, ranges, hostFile, await ProcessGroups.tryOn(limits));
    // The last ones: a host may not have all numbers.
    const { cities } = ranges;
    const [user, group] = [users.lentTo('host')[0]!, cities.first + cities.count - 1];
    const asked = { command: '/bin/sh', args: ['-c', 'id -u && id -G'], cwd: '/', env: {} };
    const { command, args, env } = users.#wrapped(asked, { user, group }, '');
    const options = { timeout: PROBE_MS, killSignal: 'SIGTERM', env, cwd: '/' } as const;
    const stdout = await answered(() => promisify(execFile)(command, args, options)).catch((error: unknown) => {
      throw failedProbe(error, 'what is to run as another user', PROBE_MS);
    });
    if (stdout !== `${user}\n${group}\n`) throw new Error('programs do not become the user that they are to be');
    await (await users.lock(user))?.release();
    return users;
  }

  /** @throws StartError unsupported when the operator has named too few numbers */
  identityOf(city: number, session: number): Identity {
    return { user: this.#numberOf('sessions', session), group: this.#numberOf('cities', city) };
  }

  isSession(user: number): boolean {
    return user >= this.ranges.sessions.first && user < this.ranges.sessions.first + this.ranges.sessions.count;
  }

  isCity(group: number): boolean {
    return group >= this.ranges.cities.first && group < this.ranges.cities.first + this.ranges.cities.count;
  }

  /** Users that belong to no session, for one run at a time: `host` for git and probes. */
  lentTo(what: LentFor): readonly number[] {
    const before = { host: 0, commands: LENT.host, services: LENT.host + LENT.commands }[what];
    return this.#last(before, LENT[what]);
  }

  /** What runs on this host as one of them for the city with this group, whatever its variables say. */
  async runningFor(group: number): Promise<readonly TableEntry[]> {
    const lent = new Set(this.#last(0, KEPT));
    return (await listProcesses()).filter((entry) => lent.has(entry.user?.() ?? -1) && entry.userGroup?.() === group);
  }

  /** Undefined when another process of the host has it. */
  lock(user: number): Promise<HostLock | undefined> {
    return hostLock(this.tools.flock, String(user));
  }

  #last(from: number, length: number): number[] {
    const { first, count } = this.ranges.sessions;
    return Array.from({ length }, (_, n) => first + count - 1 - from - n);
  }

  /** The sessions whose users something runs as on this host, by their numbers. */
  async running(): Promise<ReadonlySet<number>> {
    const lent = new Set(this.#last(0, KEPT));
    const users = (await listProcesses())
      .map((entry) => entry.user?.())
      .filter((user) => user !== undefined && this.isSession(user) && !lent.has(user));
    return new Set(users.map((user) => user! - this.ranges.sessions.first));
  }

  /** Ends all that runs as the user of a session. @throws UnconfirmedDead */
  async endSession(session: number): Promise<void> {
    await this.end(this.#numberOf('sessions', session));
  }

  /**
   * Its end leaves alone what a later start of the same session has begun, of which it may hear late.
   *
   * @param start for which it is made; else that of the first program in it
   */
  sandbox(identity: Identity, own: Own, start?: Markers): Sandbox {
    let started = start;
    return {
      enter: async (program) => {
        started ??= markersOf(program.env);
        const inside = { ...program, command: await runnable(program, identity), env: at(own, program.env) };
        const made = await this.groups?.make();
        return { ...this.#wrapped(inside, identity, made?.file ?? ''), ...sayStarved(made, this.limits.memory) };
      },
      end: async () => void (await this.end(identity.user, started)),
    };
  }

  /**
   * Ends all that runs as a session's user, at once and whatever has become of its environment and its group. False where it runs for a later start.
   *
   * @param start of which it is to be the end: where the session runs again since, all of that start was ended before
   * @throws UnconfirmedDead
   */
  end(user: number, start?: Markers): Promise<boolean> {
    if (!this.isSession(user)) throw new RangeError(`${user} is no user of a session`);
    const key = `${user} ${start?.generation ?? ''}`;
    const running = this.#endings.get(key);
    if (running !== undefined) return running;
    const ending = this.#end(user, start).finally(() => this.#endings.delete(key));
    this.#endings.set(key, ending);
    return ending;
  }

  async #end(user: number, start: Markers | undefined): Promise<boolean> {
    const limit = performance.now() + CONFIRM_MS;
    for (;;) {
      if (start !== undefined && runsAgain(await listProcesses(), user, start)) return false;
      await this.#killAll(user);
      const left = (await listProcesses()).filter((entry) => entry.user?.() === user);
      if (left.length === 0) return true;
      // What shoots at whoever comes as its user cannot shoot at root.
      for (const { pid } of left) killed(pid);
      if (performance.now() > limit)
        throw new UnconfirmedDead(`processes are still there after SIGKILL: ${left.map(({ pid }) => pid).join(', ')}`);
      await sleep(LOOK_MS);
    }
  }

  /** As that user, to whom the system lets only its own be sent: in one step, so that nothing can make more of itself meanwhile. */
  async #killAll(user: number): Promise<void> {
    const script = `test "$(id -u)" = ${user} && kill -9 -1`;
    const args = [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--no-new-privs', '/bin/sh', '-c', script];
    // It fails when there is nobody.
    await promisify(execFile)(this.tools.setpriv, args, { timeout: PROBE_MS, killSignal: 'SIGKILL', env: {}, cwd: '/' }).catch(
      () => undefined,
    );
  }

  #numberOf(kind: 'cities' | 'sessions', id: number): number {
    const { first, count } = this.ranges[kind];
    if (Number.isSafeInteger(id) && id >= 0 && id < (kind === 'sessions' ? count - KEPT : count)) return first + id;
    throw new StartError('unsupported', `[users] ${kind} of ${this.hostFile} has ${count} numbers, which are used up: make it longer`);
  }

  /** What a city says of its environment is not seen by what still runs as root: a library to load, for instance. */
  #wrapped({ command, args, cwd, env }: Program, { user, group }: Identity, limited: string): Program {
    const { setpriv, prlimit, nice } = this.tools;
    const { memory, processes, files } = this.limits;
    const named = Object.keys(env).filter((name) => !OURS.test(name) && NAME.test(name));
    return {
      command: '/bin/sh',
      args: [
        ...['-c', OUTSIDE, limited, setpriv],
        ...[`--reuid=${user}`, `--regid=${group}`, '--clear-groups', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all'],
        ...[prlimit, '--core=0', `--data=${memory}`, `--nproc=${processes}`, `--nofile=${files}`, nice, '-n', '5'],
        ...['/bin/sh', '-c', INSIDE, named.join(' '), command, ...args],
      ],
      cwd: '/',
      env: {
        ...Object.fromEntries(Object.entries(env).filter(([name]) => OURS.test(name))),
        SVC_DIR_OF: cwd,
        ...Object.fromEntries(named.map((name) => [`SVC_OF_${name}`, env[name]!])),
      },
    };
  }
}

/** Another process of the host that begins with this user ends what runs as it, now and then only a part of it: then once more. */
export async function answered(ask: () => Promise<{ stdout: string }>): Promise<string> {
  const limit = performance.now() + 3 * PROBE_MS;
  for (;;) {
    try {
      return (await ask()).stdout;
    } catch (error) {
      if (!wasKilled(error) || performance.now() > limit) throw error;
    }
    await sleep(Math.random() * AGAIN_MS);
  }
}

/** Never by a search path that somebody else could have set. @throws Error */
async function toolAt(tool: string): Promise<string> {
  for (const folder of FOLDERS) if (await isProgram(`${folder}/${tool}`)) return `${folder}/${tool}`;
  throw new Error(`${tool} is not installed`);
}

/** @throws Error */
async function refuseTaken({ first, count }: Range, file: string, hostFile: string, kind: string): Promise<void> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  const taken = lines.find(([, , id]) => id !== undefined && Number(id) >= first && Number(id) < first + count);
  if (taken !== undefined) throw new Error(`[users] ${kind} of ${hostFile} has the number of ${taken[0]} in ${file}`);
}

/** The first program of the name that its user can start. @throws StartError not_found */
async function runnable(program: Program, identity: Identity): Promise<string> {
  let closed: string | undefined;
  for await (const file of programsNamed(program)) {
    const where = await closedFor(file, identity);
    if (where === undefined) return file;
    closed ??= `${file} cannot be started by users of sessions: ${where} is closed for them`;
  }
  throw new StartError('not_found', closed ?? `${program.command} is not a program that can be started here`);
}

/** Git takes no repository of another user for safe; all of a city work on the same ones. */
function at({ home, tmp, insteadOf }: Own, env: Program['env']): Record<string, string> {
  const n = Number(env.GIT_CONFIG_COUNT ?? 0) || 0;
  const git = { GIT_CONFIG_COUNT: String(n + 1), [`GIT_CONFIG_KEY_${n}`]: 'safe.directory', [`GIT_CONFIG_VALUE_${n}`]: '*' };
  return { ...env, ...git, TMPDIR: env.TMPDIR ?? tmp, ...(env.HOME === undefined || env.HOME === insteadOf ? { HOME: home } : {}) };
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone meanwhile.
  }
}
