import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { OutgoingGuard } from '../outgoing/outgoing-guard.js';
import { removeTree } from '../runtime/preparation/remove-tree.js';
import { GitCredentials } from './git-credentials.js';
import { gitEnvironment, PORTS, type Remote } from './git-environment.js';
import { failureOf, GitFailure } from './git-failure.js';
import type { GitExit } from './git-process.js';
import { GitRunner, type Place, type WalledRun } from './git-runner.js';
import { boundedBy } from './size-limit.js';
import { TreeCheck } from './tree-limits.js';

const LIST_MS = 20_000;
const LIST_MEMORY = 512 * 1024;
/** Tags of a repository that are looked through. Its branches are only compared with a name: the bytes of the list bound them. */
const MAX_TAGS = 20_000;

export interface Limits {
  /** Of the files of a checkout, and of what is fetched for it. */
  readonly bytes: number;
  readonly files: number;
}

export interface Cloning {
  /** Empty or absent. */
  readonly into: string;
  /** Whose credentials count; undefined for what all cities share. */
  readonly city: string | undefined;
  /** The one that the repository names unless given. */
  readonly branch?: string | undefined;
}

/**
 * The `git` program, for repositories that users name: where it calls was looked at before, it asks nobody for
 * anything, runs no code of the repository, and ends when its time does. Methods throw GitFailure, and OutgoingRefused
 * for a host that may not be called.
 */
@Injectable()
export class Git {
  /** For whom names are looked up where nobody is said; '' for the service itself. */
  #caller = '';

  constructor(
    private readonly guard: OutgoingGuard,
    private readonly credentials: GitCredentials,
    private readonly runner: GitRunner,
  ) {}

  /** The same for a city: its lookups of names count as the city's, and credentials are those that all cities share. */
  forCity(name: string): Git {
    const git = new Git(this.guard, this.credentials, this.runner);
    git.#caller = name;
    return git;
  }

  /** Commits by the name of the branch or tag (`refs/tags/v1.0`), `HEAD` among them; annotated tags as what they mark. */
  async list(named: Remote, patterns: readonly string[], signal: AbortSignal): Promise<Map<string, string>> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
    const { remote, env } = await this.#call(named, undefined, limit);
    const args = ['ls-remote', '-q', '--', remote.url, ...patterns];
    const asked = { args, cwd: '/', env, signal: limit, memory: LIST_MEMORY, places: [], remote };
    const { stdout } = required(await this.runner.together(remote, [], (run) => run(asked)));
    const refs = new Map<string, string>();
    let tags = 0;
    for (const line of stdout.toString('utf8').split('\n')) {
      const [, commit, name, peeled] = /^([0-9a-f]{40,64})\t(\S+?)(\^\{\})?$/.exec(line) ?? [];
      if (commit === undefined || name === undefined || (peeled === undefined && refs.has(name))) continue;
      if (name.startsWith('refs/tags/') && !refs.has(name)) tags++;
      if (tags > MAX_TAGS) throw new GitFailure('too_large', `the repository has more than ${MAX_TAGS} version tags`);
      refs.set(name, commit);
    }
    return refs;
  }

  /**
   * Puts the files of one commit into `into`, which has to be empty or absent, and nothing of git beside them.
   *
   * @param work an empty directory for what git needs meanwhile; the caller removes it.
   */
  async checkout(named: Remote, commit: string, into: string, work: string, limits: Limits, signal: AbortSignal): Promise<void> {
    const { remote, env } = await this.#call(named, undefined, signal);
    const local = gitEnvironment(undefined);
    const gitDir = path.join(work, 'git');
    const places: Place[] = [{ at: work, mode: 'write' }];
    const made = await mkdir(into, { recursive: true });
    const checkedOut = this.runner.together(remote, [work, into], async (run) => {
      required(await run({ args: ['init', '-q', '--bare', '--', gitDir], cwd: work, env: local, signal, places }));
      await boundedBy(limits.bytes, gitDir, signal, async (bounded) => {
        const base = ['--git-dir', gitDir, 'fetch', '-q', '--no-tags', '--no-recurse-submodules'];
        const fetch = (...args: string[]): Promise<GitExit> =>
          run({ args: [...base, ...args], cwd: work, env, signal: bounded, places, remote });
        const one = await fetch('--depth=1', '--', remote.url, commit);
        if (one.code === 0) return;
        // Some servers give no single commits, or none without its history.
        const everything = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'];
        required(await fetch('--', remote.url, ...everything));
      });
      const inside = (...args: string[]): Promise<GitExit> =>
        run({ args: ['--git-dir', gitDir, ...args], cwd: work, env: local, signal, places });
      const known = await inside('cat-file', '-e', `${commit}^{commit}`);
      if (known.code !== 0) throw new GitFailure('not_found', 'the repository does not have this commit');
      const listing = { args: ['--git-dir', gitDir, ...treeOf(commit)], cwd: work, env: local, signal, places };
      await checkTree(run, listing, limits);
      places.push({ at: into, mode: 'write' });
      required(await inside('--work-tree', into, '-c', 'core.bare=false', 'checkout', '-q', '-f', '--detach', commit));
    });
    await checkedOut.catch(async (error: unknown) => {
      // Why it failed is what the caller has to hear.
      if (made !== undefined) await removeTree(made).catch(() => undefined);
      throw error;
    });
  }

  /** Clones a repository with its history; `origin` is the remote. Whatever goes wrong, the caller removes what is there. */
  async clone(named: Remote, { into, city, branch }: Cloning, limits: Limits, signal: AbortSignal): Promise<void> {
    const { remote, env } = await this.#call(named, city, signal);
    const local = gitEnvironment(undefined);
    await mkdir(into, { recursive: true });
    const places: Place[] = [{ at: into, mode: 'write' }];
    await this.runner.together(remote, [into], async (run) => {
      await boundedBy(limits.bytes, into, signal, async (bounded) => {
        const args = ['clone', '-q', '--template=', '--no-checkout', '--no-recurse-submodules', '--', remote.url, into];
        required(await run({ args, cwd: '/', env, signal: bounded, places, remote }));
      });
      const inside = (...args: string[]): Promise<GitExit> => run({ args, cwd: into, env: local, signal, places });
      // An empty repository has nothing to check out.
      if (branch === undefined && (await inside('rev-parse', '-q', '--verify', 'HEAD^{commit}')).code !== 0) return;
      const tree = branch === undefined ? 'HEAD' : `refs/remotes/origin/${branch}`;
      await checkTree(run, { args: treeOf(tree), cwd: into, env: local, signal, places }, limits);
      const what = branch === undefined ? ['HEAD', '--'] : ['-B', branch, '--track', `origin/${branch}`];
      required(await inside('checkout', '-q', '-f', ...what));
    });
  }

  /** Where nobody may call nobody is asked for a secret either. */
  async #call(named: Remote, city: string | undefined, signal: AbortSignal): Promise<{ remote: Remote; env: Record<string, string> }> {
    if (named.transport === 'file') return { remote: named, env: gitEnvironment(named) };
    const addresses = await this.guard.resolve(named.host, named.port ?? PORTS[named.transport], city ?? this.#caller);
    const remote = { ...named, signIn: await this.credentials.of(named, city, signal) };
    return { remote, env: gitEnvironment(remote, addresses) };
  }
}

const treeOf = (commit: string): string[] => ['ls-tree', '-r', '-l', '-z', '--full-tree', commit];

/** As it is listed: the paths of as many files as may be there are longer together than what git may have to say. */
async function checkTree(run: (run: WalledRun) => Promise<GitExit>, listing: WalledRun, limits: Limits): Promise<void> {
  const check = new TreeCheck(limits);
  required(await run({ ...listing, heard: (part) => check.add(part) }));
}

function required(exit: GitExit): GitExit {
  if (exit.code !== 0) throw failureOf(exit.stderr);
  return exit;
}
