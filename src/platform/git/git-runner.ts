import { constants } from 'node:fs';
import { chmod, chown, lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { Isolation } from '../isolation/isolation.js';
import { COPY, type LentWork } from '../isolation/lent-user.js';
import type { Mount } from '../isolation/mounts.js';
import { StartError, UnconfirmedDead, type Program, type Sandbox } from '../runtime/port.js';
import { caOf, type Remote } from './git-environment.js';
import { GitFailure } from './git-failure.js';
import { gitProgram, runGit, type GitExit, type GitRun } from './git-process.js';
import { toldTo, withoutSecret } from './sign-in.js';
import { GIT_END, SshLine, sshProgram } from './ssh-line.js';

/** A place of this host that one run of git works on. Absolute, real and there. */
export interface Place {
  readonly at: string;
  readonly mode: 'read' | 'write';
}

export interface WalledRun extends GitRun {
  /** All that git sees beside programs and certificates, where a wall is. */
  readonly places: readonly Place[];
  /** A folder of the service's that says how git works on the first place (`withOwnSettings`): whoever git runs as may read it. */
  readonly settings?: string | undefined;
  /** Who is called: git signs in there as it says, and sees the files of one on disk. */
  readonly remote?: Remote | undefined;
}

/** What starts a program behind a wall, or as it is. */
type Start = (program: Program) => Program | Promise<Program>;

/** Where what the operator has named is seen behind a wall. */
const INSIDE = { key: '/run/svc-git/key', knownHosts: '/run/svc-git/known_hosts', ca: '/run/svc-git/ca.pem' } as const;
const NO_HOME = '/nonexistent';
const AS_IT_IS: Start = (program) => program;
/** As of a checkout. */
const COPY_LIMITS = { bytes: 256 * 1024 * 1024, files: 20_000 };
const LINK = 'what git is to work on is a link, or lies behind one';
const OTHER = 'what git is to work on is another by now';
/** Nothing is waited for, and no link followed. */
const LOOK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Runs git for repositories that users name, in a sandbox of its own where this host has them: git sees the places that it
 * works on, an empty home, and nothing else of this host, whatever is wrong with git. The network is the host's where it calls somebody:
 * `outgoing` says whom; otherwise it has none.
 */
@Injectable()
export class GitRunner {
  constructor(private readonly isolation: Isolation) {}

  /** Whether users of the system are the walls: then git has a user of its own, who cannot go into cities. @throws GitFailure unavailable */
  async isLent(): Promise<boolean> {
    return (await this.isolation.found().catch(cannotIsolate)).kind === 'users';
  }

  /**
   * Runs of git that belong together. Where users of the system are the walls, they run as one whom nobody else has, who owns the folders
   * meanwhile: they are below the cities' root, and there. Of a repository on disk, which may be closed for it, that one has a copy.
   *
   * @throws GitFailure unavailable when nobody can be had for it; what `work` throws
   */
  async together<T>(
    remote: Remote,
    folders: readonly string[],
    work: (run: (run: WalledRun) => Promise<GitExit>) => Promise<T>,
  ): Promise<T> {
    if (!(await this.isLent())) return work((run) => this.#walled(run));
    const tree = remote.transport === 'file' ? { from: await storeOf(remote), limits: COPY_LIMITS } : undefined;
    // What signs in by ssh stays with the service's user, who calls.
    const files = remote.transport === 'ssh' ? [] : ownFiles(remote);
    return this.#lent({ folders, files, ...(tree && { tree }) }, (sandbox, home) => {
      const copy = `file://${path.join(home!, COPY)}`;
      const args = (run: WalledRun): readonly string[] =>
        tree === undefined ? run.args : run.args.map((arg) => (arg === remote.url ? copy : arg));
      return work((run) => lentRun(sandbox!, { ...run, args: args(run) }));
    });
  }

  /**
   * A look at what users of a city share is theirs to run: as one of them, where users are the walls, and not at all before that.
   *
   * @throws GitFailure as `runGit`, unavailable also where nobody may look; failed when a place is a link, or has become another while
   * git was started
   */
  async run(run: WalledRun): Promise<GitExit> {
    if (!(await this.isLent())) return this.#walled(run);
    const [place, ...others] = run.places;
    const isLook = place?.mode === 'read' && others.length === 0 && run.remote === undefined;
    const group = isLook ? await this.isolation.groupOf(place.at) : undefined;
    if (group === undefined)
      throw new GitFailure('unavailable', 'no session of the city has had this place yet, so that nobody may look at it');
    if (run.settings !== undefined) {
      await chown(run.settings, -1, group);
      await chmod(run.settings, 0o750);
    }
    return this.#lent({ folders: [], group }, (sandbox) => lentRun(sandbox!, run));
  }

  async #lent<T>(lent: Omit<LentWork, 'below'>, work: (sandbox: Sandbox | undefined, home?: string) => Promise<T>): Promise<T> {
    try {
      return await this.isolation.lent(lent, work);
    } catch (error) {
      if (!(error instanceof StartError || error instanceof UnconfirmedDead)) throw error;
      return cannotIsolate(error);
    }
  }

  async #walled(run: WalledRun): Promise<GitExit> {
    const { remote, settings } = run;
    const places: Place[] = [
      ...run.places,
      ...(settings === undefined ? [] : [{ at: settings, mode: 'read' } as const]),
      ...sourceOf(remote),
    ];
    const calls = remote?.transport === 'ssh';
    const sandbox = await this.#sandbox([...home(calls ? [] : await signsIn(remote)), ...places], remote === undefined);
    // What lies in the home of the service's user is nobody's who is to sign in otherwise.
    if (sandbox === undefined)
      return called(
        remote === undefined || remote.signIn?.kind === 'own' ? run : { ...run, env: { ...run.env, HOME: NO_HOME } },
        gitProgram,
        AS_IT_IS,
      );
    const outside = calls ? await this.#sandbox(home(await signsIn(remote))) : undefined;
    const handles: FileHandle[] = [];
    try {
      const identities: string[] = [];
      for (const { at } of places) identities.push(await identityOf(at, handles));
      const paths = places.map(({ at }) => at);
      const start = (git: GitRun): Promise<Program> => sandbox.enter(checked(inside(git), identities, paths));
      return await called(run, start, outside === undefined ? AS_IT_IS : (ssh) => outside.enter(ssh), INSIDE);
    } finally {
      await Promise.all(handles.map((handle) => handle.close()));
    }
  }

  async #sandbox(mounts: readonly Mount[], isAlone = false): Promise<Sandbox | undefined> {
    return this.isolation.sandbox(mounts, isAlone ? 'none' : undefined).catch(cannotIsolate);
  }
}

function cannotIsolate(cause: unknown): never {
  throw new GitFailure('unavailable', 'git cannot be isolated here', { cause });
}

function lentRun(sandbox: Sandbox, run: WalledRun): Promise<GitExit> {
  const { GIT_CONFIG_GLOBAL: _none, ...env } = run.env;
  return called({ ...run, env }, (git) => sandbox.enter(gitProgram(git)), AS_IT_IS);
}

/**
 * Runs git with what it signs in with: a secret that it hears once, or a line of ssh's beside it.
 *
 * @param start of git, and of ssh
 * @param seen where ssh finds its files, when not where they lie
 */
async function called(
  run: WalledRun,
  start: (git: GitRun) => Program | Promise<Program>,
  startSsh: Start,
  seen?: typeof INSIDE,
): Promise<GitExit> {
  const { remote } = run;
  if (remote?.transport !== 'ssh') {
    const exit = await runGit(run, await start(run), { told: toldTo(remote?.signIn) });
    return { ...exit, stderr: withoutSecret(exit.stderr, remote?.signIn) };
  }
  const program = await start({ ...run, env: { ...run.env, ...GIT_END } });
  const files = remote.signIn?.kind === 'key' ? (seen ?? remote.signIn) : undefined;
  const line = await SshLine.open(await startSsh(sshProgram(remote, run.env, files)));
  try {
    const { stderr, ...exit } = await runGit(run, program, { line });
    await line.end(); // and all that it has said is here
    return { ...exit, stderr: line.words + stderr };
  } finally {
    await line.end();
  }
}

/** Git that sees the operator's authority where a wall shows it. */
function inside(run: GitRun): GitRun {
  return run.env.GIT_SSL_CAINFO === undefined ? run : { ...run, env: { ...run.env, GIT_SSL_CAINFO: INSIDE.ca } };
}

/** Its own, over the one of the service's user: nothing that is written there lasts. */
function home(shown: readonly Mount[]): Mount[] {
  const at = homedir();
  // Over the root nothing would be left of what is shown.
  return [{ at: '/tmp', mode: 'hidden' }, ...(at === '/' ? [] : [{ at, mode: 'hidden' } as const]), ...shown];
}

/** What is shown for the call: of the home, or of what the operator has named. */
async function signsIn(remote: Remote | undefined): Promise<Mount[]> {
  const mounts: Mount[] = [];
  const signIn = remote?.signIn;
  if (signIn?.kind === 'key') {
    mounts.push({ at: INSIDE.key, mode: 'read', from: signIn.key }, { at: INSIDE.knownHosts, mode: 'read', from: signIn.knownHosts });
  }
  const ca = caOf(signIn);
  if (ca !== undefined) mounts.push({ at: INSIDE.ca, mode: 'read', from: ca });
  for (const name of ownFiles(remote)) {
    const at = path.join(homedir(), name);
    const from = await realpath(at).catch(() => undefined);
    if (from !== undefined) mounts.push({ at, mode: 'read', from });
  }
  return mounts;
}

/** Of the home of the service's user. */
function ownFiles(remote: Remote | undefined): readonly string[] {
  if (remote?.signIn?.kind !== 'own' || remote.transport === 'file') return [];
  return [remote.transport === 'ssh' ? '.ssh' : '.netrc'];
}

function sourceOf(remote: Remote | undefined): Place[] {
  return remote?.transport === 'file' ? [{ at: remote.url.slice('file://'.length), mode: 'read' }] : [];
}

/** Where a repository on disk keeps what it has: without what is checked out. */
async function storeOf({ url }: Remote): Promise<string> {
  const at = url.slice('file://'.length);
  const inside = path.join(at, '.git');
  const found = await lstat(inside).catch(() => undefined);
  return found?.isDirectory() === true ? inside : at;
}

/** Which file or folder a path means, by a number that is no other's as long as the handle is open. @throws GitFailure */
async function identityOf(at: string, handles: FileHandle[]): Promise<string> {
  try {
    const handle = await open(at, LOOK);
    handles.push(handle);
    const { dev, ino } = await handle.stat({ bigint: true });
    if ((await readlink(`/proc/self/fd/${handle.fd}`)) === at) return `${dev}:${ino}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw new GitFailure('failed', LINK, { cause: error });
    throw new GitFailure('failed', 'what git is to work on cannot be opened', { cause: error });
  }
  throw new GitFailure('failed', LINK);
}

/** Whoever changes a path into a link between the look and the mount gets nothing of what lies behind it. */
function checked(run: GitRun, identities: readonly string[], paths: readonly string[]): Program {
  if (paths.length === 0) return gitProgram(run);
  const each = paths.map((_, n) => `"$${n + 2}"`).join(' ');
  const refuse = `{ echo 'fatal: ${OTHER}' >&2; exit 128; }`;
  const look = `test "$(stat -c %d:%i -- ${each})" = "$1" || ${refuse}; shift ${paths.length + 1}`;
  return gitProgram(run, { look, words: [identities.join('\n'), ...paths] });
}
