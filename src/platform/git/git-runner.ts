import { constants } from 'node:fs';
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { Isolation } from '../isolation/isolation.js';
import type { LentWork } from '../isolation/lent-user.js';
import type { Mount } from '../isolation/mounts.js';
import { StartError, UnconfirmedDead, type Program, type Sandbox } from '../runtime/port.js';
import type { Remote } from './git-environment.js';
import { GitFailure } from './git-failure.js';
import { gitProgram, runGit, type GitExit, type GitRun } from './git-process.js';

/** A place of this host that one run of git works on. Absolute, real and there. */
export interface Place {
  readonly at: string;
  readonly mode: 'read' | 'write';
}

export interface WalledRun extends GitRun {
  /** All that git sees beside programs and certificates, where a wall is. */
  readonly places: readonly Place[];
  /** Who is called: with it git sees what the service's user signs in with there, and the files of one on disk. */
  readonly remote?: Remote | undefined;
}

const CREDENTIALS: Readonly<Record<Remote['transport'], readonly string[]>> = {
  https: ['.netrc'],
  http: ['.netrc'],
  ssh: ['.ssh'],
  file: [],
};
const LINK = 'what git is to work on is a link, or lies behind one';
const OTHER = 'what git is to work on is another by now';
/** Nothing is waited for, and no link followed. */
const LOOK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Runs git for repositories that users name, in a sandbox of its own where this host has them: git sees the places that it
 * works on, an empty home, and nothing else of this host, whatever is wrong with git. The network is the host's: `outgoing`
 * says where git calls.
 */
@Injectable()
export class GitRunner {
  constructor(private readonly isolation: Isolation) {}

  /** Whether users of the system are the walls: then git has a user of its own, who cannot go into cities. */
  async isLent(): Promise<boolean> {
    return (await this.isolation.found()).kind === 'users';
  }

  /**
   * Runs of git that belong together. Where users of the system are the walls, they run as one whom nobody else has, who owns the folders
   * meanwhile: they are below the cities' root, and there. Who is called by ssh, or lies on disk, is called by the service's user: ssh
   * takes no user without a name, and a city's repository may be closed for others.
   *
   * @throws GitFailure unavailable when nobody can be had for it; what `work` throws
   */
  async together<T>(
    remote: Remote,
    folders: readonly string[],
    work: (run: (run: WalledRun) => Promise<GitExit>) => Promise<T>,
  ): Promise<T> {
    if (remote.transport === 'ssh' || remote.transport === 'file') return work((run) => this.run(run));
    return this.#lent({ folders, files: CREDENTIALS[remote.transport] }, (sandbox) =>
      work((run) => (sandbox === undefined ? this.#walled(run) : lentRun(sandbox, run))),
    );
  }

  /**
   * A look at what users of a city share is theirs to run: as one of them, where users are the walls.
   *
   * @throws GitFailure as `runGit`; failed when a place is a link, or has become another while git was started
   */
  async run(run: WalledRun): Promise<GitExit> {
    const [place, ...others] = run.places;
    const isLook = place?.mode === 'read' && others.length === 0 && run.remote === undefined;
    const group = isLook ? await this.isolation.groupOf(place.at) : undefined;
    if (group === undefined) return this.#walled(run);
    return this.#lent({ folders: [], group }, (sandbox) => (sandbox === undefined ? this.#walled(run) : lentRun(sandbox, run)));
  }

  async #lent<T>(lent: Omit<LentWork, 'below'>, work: (sandbox: Sandbox | undefined) => Promise<T>): Promise<T> {
    try {
      return await this.isolation.lent(lent, work);
    } catch (error) {
      if (!(error instanceof StartError || error instanceof UnconfirmedDead)) throw error;
      throw new GitFailure('unavailable', 'git cannot be isolated here', { cause: error });
    }
  }

  async #walled(run: WalledRun): Promise<GitExit> {
    const places = [...run.places, ...sourceOf(run.remote)];
    const sandbox = await this.isolation.sandbox([...(await home(run.remote)), ...places]).catch((error: unknown) => {
      throw new GitFailure('unavailable', 'git cannot be isolated here', { cause: error });
    });
    if (sandbox === undefined) return runGit(run);
    const handles: FileHandle[] = [];
    try {
      const identities: string[] = [];
      for (const { at } of places) identities.push(await identityOf(at, handles));
      const paths = places.map(({ at }) => at);
      return await runGit(run, await sandbox.enter(checked(run, identities, paths)));
    } finally {
      await Promise.all(handles.map((handle) => handle.close()));
    }
  }
}

async function lentRun(sandbox: Sandbox, run: WalledRun): Promise<GitExit> {
  const { GIT_CONFIG_GLOBAL: _none, ...env } = run.env;
  return runGit(run, await sandbox.enter(gitProgram({ ...run, env })));
}

/** Its own, over the one of the service's user: nothing that is written there lasts. */
async function home(remote: Remote | undefined): Promise<Mount[]> {
  const at = homedir();
  const mounts: Mount[] = [{ at: '/tmp', mode: 'hidden' }];
  // Over the root nothing would be left of what is shown.
  if (at === '/') return mounts;
  mounts.push({ at, mode: 'hidden' });
  for (const name of remote === undefined ? [] : CREDENTIALS[remote.transport]) {
    const from = await realpath(path.join(at, name)).catch(() => undefined);
    if (from !== undefined) mounts.push({ at: path.join(at, name), mode: 'read', from });
  }
  return mounts;
}

function sourceOf(remote: Remote | undefined): Place[] {
  return remote?.transport === 'file' ? [{ at: remote.url.slice('file://'.length), mode: 'read' }] : [];
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
