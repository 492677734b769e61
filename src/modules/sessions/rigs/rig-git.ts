import { realpath, rename } from 'node:fs/promises';
import path from 'node:path';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { gitEnvironment, PORTS } from '../../../platform/git/git-environment.js';
import { failureOf, GitFailure } from '../../../platform/git/git-failure.js';
import { GitRunner } from '../../../platform/git/git-runner.js';
import { branchNamed, ownRepository, type OwnRepository } from '../../../platform/git/own-repository.js';
import { sweepOwnSettings, withOwnSettings } from '../../../platform/git/own-settings.js';
import { Git, type Limits } from '../../../platform/git/git.js';
import { removeTree } from '../../../platform/runtime/preparation/remove-tree.js';
import { OutgoingRefused } from '../../../platform/outgoing/outgoing-guard.js';
import { openWorkFolder } from '../../files/composition/packs/checkout-store.js';
import { parseSource, type RepositorySource } from '../../files/composition/packs/sources.js';
import { CLONE_MS } from './rigs.operations.js';
import type { GitStatus } from './rigs.schemas.js';

export interface Clone {
  readonly url: string;
  /** Whose rig it shall be. */
  readonly city: string;
  /** The one that the repository names unless given. */
  readonly branch: string | undefined;
  /** Is not there yet. */
  readonly into: string;
  readonly signal: AbortSignal;
}

interface Place extends OwnRepository {
  readonly cwd: string;
}

const LOOK_MS = 3_000;
/** Far beyond what agents work on, and less than fills a disk unnoticed. */
const LIMITS: Limits = { bytes: 4 * 1024 ** 3, files: 150_000 };

/** What rigs need of git. */
@Injectable()
export class RigGit implements OnApplicationBootstrap {
  /** Replaced in tests: all processes of a host sweep the same folder. */
  sweep = sweepOwnSettings;

  constructor(
    private readonly git: Git,
    private readonly runner: GitRunner,
    private readonly config: AppConfig,
  ) {}

  /** What a process that was killed has left of its looks. Nothing waits for it. */
  onApplicationBootstrap(): void {
    void this.sweep();
  }

  /**
   * Makes a whole clone, within `limitMs` milliseconds. Whatever goes wrong, the caller removes what is there.
   *
   * @throws OutgoingRefused, GitFailure
   */
  async clone({ url, city, branch, into, signal }: Clone, limitMs = CLONE_MS): Promise<void> {
    const source = parseSource(url);
    if (source.kind !== 'repository' || source.transport === 'file')
      throw new OutgoingRefused('forbidden', 'only repositories of https and ssh addresses are cloned');
    if (source.transport === 'http' && !this.#isNamed(source))
      throw new OutgoingRefused('forbidden', `${source.host} may be called with https only`);
    const within = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    if (!(await this.runner.isLent())) return this.git.clone(source, { into, city, branch }, LIMITS, within);
    // A city is closed for whoever git runs as: the clone is made beside checkouts, where it can go.
    const workshop = await openWorkFolder(await realpath(this.config.citiesRoot));
    try {
      const made = path.join(workshop, 'clone');
      await this.git.clone(source, { into: made, city, branch }, LIMITS, within);
      await removeTree(into);
      await rename(made, into);
    } finally {
      await removeTree(workshop);
    }
  }

  /** The default branch of a repository; undefined when there is none at `directory`. */
  async branchOf(directory: string): Promise<string | undefined> {
    const place = await placeOf(directory);
    if (place === undefined) return undefined;
    const signal = AbortSignal.timeout(LOOK_MS);
    const ask = async (name: string): Promise<string | undefined> => {
      const text = await this.#look(place, ['symbolic-ref', '--quiet', '--short', name], signal).catch(async (error: unknown) =>
        error instanceof GitFailure && error.reason === 'unavailable' ? ((await branchNamed(place.gitDir, name)) ?? '') : '',
      );
      const found = text.trim().replace(/^origin\//, '');
      return found === '' ? undefined : found;
    };
    return (await ask('refs/remotes/origin/HEAD')) ?? (await ask('HEAD'));
  }

  /** The state of the repository at `directory` itself; undefined when there is none. @throws GitFailure; Error as `withOwnSettings` */
  async status(directory: string, signal: AbortSignal): Promise<GitStatus | undefined> {
    const place = await placeOf(directory);
    if (place === undefined) return undefined;
    const args = ['status', '--porcelain=v2', '--branch', '--untracked-files=normal', '--ignore-submodules=all', '-z'];
    // Settings name programs, filters for one: nothing that lies in a rig is run.
    const list = (file: string, folder: string): Promise<string> =>
      this.#look({ ...place, gitDir: folder }, ['config', '--file', file, '--null', '--list'], signal, folder);
    const look = (folder: string): Promise<string> => this.#look(place, args, signal, folder);
    return statusIn(await withOwnSettings(place, list, look));
  }

  /**
   * Runs git in this very repository, wherever its settings say that its files lie.
   *
   * @param settings folder of the settings that count in place of the repository's
   * @throws GitFailure
   */
  async #look({ cwd, gitDir }: Place, args: readonly string[], signal: AbortSignal, settings?: string): Promise<string> {
    const { code, stdout, stderr } = await this.runner.run({
      args: [`--git-dir=${gitDir}`, `--work-tree=${cwd}`, ...args],
      cwd,
      env: { ...gitEnvironment(undefined), ...(settings !== undefined && { GIT_COMMON_DIR: settings }) },
      signal,
      places: [{ at: cwd, mode: 'read' }],
      settings,
    });
    if (code !== 0) throw failureOf(stderr);
    return stdout.toString('utf8');
  }

  /** True for a server of the own network that the configuration names. */
  #isNamed({ host, port = PORTS.http }: RepositorySource): boolean {
    return this.config.allowedTargets.some((target) => target.host === host && (target.port ?? port) === port);
  }
}

/** A repository above the directory does not count, nor one that lies elsewhere in part. */
async function placeOf(directory: string): Promise<Place | undefined> {
  const own = await ownRepository(directory);
  return own && { cwd: directory, ...own };
}

function statusIn(text: string): GitStatus {
  let branch = 'HEAD';
  let [ahead, behind, changed] = [0, 0, 0];
  const records = text.split('\0');
  for (let n = 0; n < records.length; n++) {
    const record = records[n]!;
    if (record.startsWith('# branch.head ')) branch = record.slice('# branch.head '.length);
    else if (record.startsWith('# branch.ab ')) [ahead, behind] = record.match(/\d+/g)!.map(Number) as [number, number];
    else if (/^[12u?] /.test(record)) changed++;
    // A renamed file is followed by its old name.
    if (record.startsWith('2 ')) n++;
  }
  if (branch === '(detached)') branch = 'HEAD';
  return { branch, clean: changed === 0, changed_files: changed, ahead, behind };
}
