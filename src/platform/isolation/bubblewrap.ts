import { execFile } from 'node:child_process';
import { readFile, readlink, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { StartError, type Program, type Sandbox } from '../runtime/port.js';
import { isProgram, programsNamed } from '../runtime/programs.js';
import { etcArguments } from './etc.js';
import { GIVE_NAMES } from './given-names.js';
import type { HostRules } from './host-file.js';
import { kernelArguments } from './kernel-files.js';
import { NO_NETWORK, type Inside } from './network/inside.js';
import { inOrder, shownAt, type Mount } from './mounts.js';
import { exactPlaces, onMountPoints, renewed, type Placed } from './mount-points.js';
import { limitsBy, sayStarved, type LimitsBy } from './limits-by.js';
import { failedProbe, isPassing, OfAMoment } from './probe.js';
import { ProcessGroups } from './process-groups.js';
import { keptOf, shownHost } from './shown-host.js';

const PROBE_MS = 10_000;
/** For so long a host that allowed no namespace for the network is taken to allow none. */
const REFUSED_MS = 60_000;
/** Programs and libraries. On most hosts all but `/usr` are links into it. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/nix/store'];
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin'];
const TOOLS = ['bwrap', 'prlimit', 'nice', 'env'] as const;
type Tools = Readonly<Record<(typeof TOOLS)[number], string>>;
const MOST_NETWORKS = '/proc/sys/user/max_net_namespaces';
/** As bubblewrap and the system say it of namespaces that are used up, and of those of which there may be none. */
const NO_SPACE = /(\(ENOSPC\)|No space left on device)$/;
const SIGNALS = 'HUP,INT,QUIT,TERM';
/**
 * Outside. The monitors of bubblewrap outlive what is said to the whole group and end with the program. Nothing that a city
 * says is in their environment under its own name: a library to load, for instance, would be loaded out here.
 */
const OUTSIDE = `trap '' ${SIGNALS.replaceAll(',', ' ')}; test -z "$0" || echo 0 >"$0" || exit 126; exec "$@"`;
/** Inside, once GNU env has given the signals their meaning back: gives the variables their names. */
const INSIDE = `${GIVE_NAMES}exec "$@"`;
const OURS = /^SVC_/;
const NAME = /^[A-Za-z_]\w*$/;

interface Walls {
  readonly mounts: readonly Placed[];
  /** The file through which a process comes into the group that limits it; empty where there is none. */
  readonly group: string;
  readonly network?: Inside | undefined;
  /** Within another one, which shows nothing of the host but what is mounted. */
  readonly isNested: boolean;
}

/** Walls made by bubblewrap: namespaces for mounts, processes, users and IPC; the network is the host's, or none but a way out. */
export class Bubblewrap {
  #noNetwork: Promise<Inside | undefined> | undefined;
  #asksAgainAt = 0;
  #nests = false;
  /** Keeps what is root from writing settings of the kernel. */
  #kernel: readonly string[] = [];
  #leavesKernel = false;

  private constructor(
    private readonly tools: Tools,
    private readonly system: readonly string[],
    private readonly limits: HostRules['limits'],
    private readonly groups: ProcessGroups | undefined,
  ) {}

  /** What limits what is in a sandbox. */
  get limitsBy(): LimitsBy {
    return limitsBy(this.groups?.counted, process.getuid!() !== 0);
  }

  /**
   * Tries it with everything that a session's program gets.
   *
   * @param directory of this service alone: what sandboxes of this host share is kept there
   * @param bwrap another one, for tests
   * @throws Error that says why this host cannot; OfAMoment where it may be able to in another moment
   */
  static async tryOn(limits: HostRules['limits'], directory: string, bwrap?: string): Promise<Bubblewrap> {
    const found = await Promise.all(TOOLS.map(async (tool) => [tool, await toolAt(tool)] as const));
    const bubblewrap = new Bubblewrap(
      { ...(Object.fromEntries(found) as Tools), ...(bwrap !== undefined && { bwrap }) },
      [...(await systemArguments()), ...(await etcArguments(directory))],
      limits,
      await ProcessGroups.tryOn(limits),
    );
    bubblewrap.#kernel = await kernelArguments();
    if (!(await bubblewrap.#allows())) {
      bubblewrap.#leavesKernel = bubblewrap.#kernel.length > 0;
      bubblewrap.#kernel = [];
      await bubblewrap.#try();
    }
    bubblewrap.#nests = await bubblewrap.#allows(true);
    return bubblewrap;
  }

  /** Whether what runs inside can change settings of the kernel: the service is root, and the host does not let it cover them. */
  get leavesKernel(): boolean {
    return this.#leavesKernel;
  }

  /** Whether a sandbox can be made within another one, which some hosts refuse. */
  get nests(): boolean {
    return this.#nests;
  }

  /** Tried twice: what comes of it stands for as long as this process lives. @throws OfAMoment */
  async #allows(isNested = false): Promise<boolean> {
    const tried = (): Promise<void> => this.#try(undefined, isNested);
    return tried()
      .catch(tried)
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof OfAMoment) throw error;
          return false;
        },
      );
  }

  /**
   * What is to have no network: undefined on hosts that allow no namespaces for it, which sessions may do without. @throws Error where none can
   * be made at all just now
   */
  noNetwork(): Promise<Inside | undefined> {
    if (this.#noNetwork === undefined || performance.now() > this.#asksAgainAt) this.#noNetwork = this.#lookForNone();
    return this.#noNetwork;
  }

  async #lookForNone(): Promise<Inside | undefined> {
    this.#asksAgainAt = Infinity;
    try {
      if (await this.#makesNone()) return NO_NETWORK;
      // Once more: what is run without one has the host's.
      if (await this.#makesNone()) return NO_NETWORK;
      await this.#try();
      this.#asksAgainAt = performance.now() + REFUSED_MS;
      return undefined;
    } catch (error) {
      this.#noNetwork = undefined;
      throw error;
    }
  }

  /** False where the host says that it allows none. @throws Error where it has said nothing, or is out of something at this moment */
  async #makesNone(): Promise<boolean> {
    try {
      await this.#try(NO_NETWORK);
      return true;
    } catch (error) {
      if (await isRefusal((error as Error).message)) return false;
      throw error;
    }
  }

  async #try(network?: Inside, isNested = false): Promise<void> {
    const program = { command: '/bin/sh', args: ['-c', 'test "$A" = 1'], cwd: '/', env: { A: '1' } };
    const { command, args, env } = this.#wrapped(program, { mounts: [], group: '', network, isNested });
    try {
      await promisify(execFile)(command, args, { timeout: PROBE_MS, killSignal: 'SIGKILL', env });
    } catch (error) {
      throw failedProbe(error, 'bubblewrap', PROBE_MS);
    }
  }

  /**
   * @param hint tells where an operator makes a program visible
   * @param onMoved as for `onMountPoints`
   */
  sandbox(mounts: readonly Mount[], hint: string, network?: Inside, onMoved?: (at: string, away: string) => void): Sandbox {
    const ordered = inOrder(mounts);
    let isEntered = false;
    return {
      enter: async (program) => {
        const seen: Mount[] = [...SYSTEM.map((at): Mount => ({ at, mode: 'read' })), ...ordered];
        const env = { ...program.env, ...network?.env };
        const command = await visibleProgram(program, seen, hint);
        const placed = await renewed(await onMountPoints(ordered, onMoved));
        // What was begun here before may still run, and put a link where something is about to be mounted.
        const isBeside = isEntered || placed.some(({ isContested, isShown }) => isContested && !isShown);
        isEntered = true;
        const group = await this.groups?.make();
        return {
          ...this.#wrapped(
            { ...program, env, command },
            { mounts: placed, group: group?.file ?? '', network, isNested: this.#nests && isBeside },
          ),
          ...sayStarved(group, this.limits.memory),
        };
      },
    };
  }

  /** No value of a variable is an argument: those of a process can be read by everybody on the host. */
  #wrapped({ command, args, cwd, env }: Program, { mounts, group, network, isNested }: Walls): Program {
    const { bwrap, prlimit, nice, env: setSignals } = this.tools;
    const { memory, processes, files } = this.limits;
    const named = Object.keys(env).filter((name) => !OURS.test(name) && NAME.test(name));
    const fixed = [...this.system, ...(network?.args ?? [])];
    const shown = mounts.flatMap(mountArguments);
    return {
      command: '/bin/sh',
      args: [
        ...['-c', OUTSIDE, group],
        ...[prlimit, '--core=0', `--data=${memory}`, `--nproc=${processes}`, `--nofile=${files}`],
        // What agents run must not keep the service from renewing its leases.
        ...[nice, '-n', '5', bwrap, ...(isNested ? shownHost(bwrap, fixed, shown, keptOf(mounts)) : [])],
        ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--cap-drop', 'ALL', '--die-with-parent'],
        ...this.system,
        ...['--proc', '/proc', ...this.#kernel, '--dev', '/dev', '--tmpfs', '/run'],
        ...shown,
        ...(network?.args ?? []),
        ...['--chdir', cwd, '--', setSignals, `--default-signal=${SIGNALS}`],
        ...[
          '/bin/sh',
          '-c',
          `${exactPlaces(mounts)}${sameFolders(mounts)}${network?.prelude ?? ''}${INSIDE}`,
          named.join(' '),
          command,
          ...args,
        ],
      ],
      cwd: '/',
      env: {
        ...Object.fromEntries(Object.entries(env).filter(([name]) => OURS.test(name))),
        ...Object.fromEntries(named.map((name) => [`SVC_OF_${name}`, env[name]!])),
      },
    };
  }
}

/** Inside: what was looked at is what was mounted, whoever has put a link in its place since. */
function sameFolders(mounts: readonly Mount[]): string {
  const known = mounts.flatMap(({ at, identity }) =>
    identity === undefined ? [] : [{ at: `'${at.replaceAll("'", `'\\''`)}'`, identity }],
  );
  if (known.length === 0) return '';
  const [paths, identities] = [known.map(({ at }) => at).join(' '), known.map(({ identity }) => identity).join('\n')];
  return `test "$(stat -c %d:%i -- ${paths})" = '${identities}' || { echo 'a folder was replaced by another one before this began' >&2; exit 126; }; `;
}

/** Whether bubblewrap says that the host allows no namespace for the network, and not that it is out of something. */
async function isRefusal(said: string): Promise<boolean> {
  if (!said.startsWith('bwrap: ')) return false;
  if (NO_SPACE.test(said)) return (await readFile(MOST_NETWORKS, 'utf8').catch(() => '')).trim() === '0';
  return !isPassing(said);
}

/** Never by a search path that somebody else could have set. @throws Error */
async function toolAt(tool: string): Promise<string> {
  for (const folder of FOLDERS) if (await isProgram(`${folder}/${tool}`)) return `${folder}/${tool}`;
  throw new Error(`${tool === 'bwrap' ? 'bubblewrap' : tool} is not installed`);
}

function mountArguments({ at, from = at, mode, isShown }: Placed): string[] {
  if (isShown) return [];
  if (mode === 'hidden') return ['--tmpfs', at];
  return [mode === 'write' ? '--bind' : '--ro-bind', from, at];
}

async function systemArguments(): Promise<string[]> {
  const args: string[] = [];
  for (const at of SYSTEM) {
    const target = await readlink(at).catch(() => undefined);
    if (target !== undefined) args.push('--symlink', target, at);
    else args.push('--ro-bind-try', at, at);
  }
  return args;
}

/** The absolute path of a program that is the same inside. @throws StartError not_found */
async function visibleProgram(program: Program, mounts: readonly Mount[], hint: string): Promise<string> {
  let hidden: string | undefined;
  for await (const file of programsNamed(program)) {
    const real = await resolved(file);
    const shown = shownAt(mounts, file);
    // A folder that is reached by a link is shown at both places; what somebody's own home covers is another file.
    if (shown !== undefined && shownAt(mounts, real) === real && (await resolved(shown)) === real) return file;
    hidden ??= file;
  }
  if (hidden === undefined) throw new StartError('not_found', `${program.command} is not a program that can be started here`);
  throw new StartError('not_found', `${hidden} lies where agents of this host see nothing: ${hint}`);
}

async function resolved(file: string): Promise<string> {
  return realpath(file).catch(() => file);
}
