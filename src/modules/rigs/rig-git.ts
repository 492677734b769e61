import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../platform/config/config.js';
import { OutgoingGuard, OutgoingRefused } from '../../platform/outgoing/outgoing-guard.js';
import { parseSource, type RepositorySource } from '../composition/packs/sources.js';
import { git, GitFailed } from './git-process.js';
import { CLONE_MS } from './rigs.operations.js';
import type { GitStatus } from './rigs.schemas.js';

export { GitFailed };

export interface Clone {
  readonly url: string;
  /** The one that the repository names unless given. */
  readonly branch: string | undefined;
  /** Is not there yet. */
  readonly into: string;
  readonly signal: AbortSignal;
}

const LOOK_MS = 3_000;
const PORTS = { https: 443, http: 80 } as const;
/** A connection that moves less than this many bytes a second, for so many seconds, is given up. */
const SLOW = ['1', '60'] as const;

/** What rigs need of git. */
@Injectable()
export class RigGit {
  /** How long a clone may take. */
  protected readonly cloneMs: number = CLONE_MS;

  constructor(
    private readonly guard: OutgoingGuard,
    private readonly config: AppConfig,
  ) {}

  /**
   * Makes a whole clone. Only the addresses that the guard has answered are called, and no other host.
   *
   * @throws OutgoingRefused, GitFailed
   */
  async clone({ url, branch, into, signal }: Clone): Promise<void> {
    const source = parseSource(url);
    if (source.kind !== 'repository' || !(source.transport === 'https' || source.transport === 'http'))
      throw new OutgoingRefused('forbidden', 'only https repositories are cloned');
    const port = source.port ?? PORTS[source.transport];
    if (source.transport === 'http' && !this.#isNamed(source, port))
      throw new OutgoingRefused('forbidden', `${source.host} may be called with https only`);
    const addresses = await this.guard.resolve(source.host, port);
    await git({
      args: [
        'clone',
        '--quiet',
        '--template=',
        '--no-recurse-submodules',
        ...(branch === undefined ? [] : ['--branch', branch]),
        '--',
        source.url,
        into,
      ],
      cwd: path.dirname(into),
      settings: [
        ['protocol.allow', 'never'],
        [`protocol.${source.transport}.allow`, 'always'],
        ['http.followRedirects', 'false'],
        ['http.curloptResolve', `${source.host}:${port}:${addresses.map(bracketed).join(',')}`],
        ['http.lowSpeedLimit', SLOW[0]],
        ['http.lowSpeedTime', SLOW[1]],
      ],
      signal,
      limitMs: this.cloneMs,
    });
  }

  /** The default branch of a repository; undefined when there is none at `directory`. */
  async branchOf(directory: string): Promise<string | undefined> {
    if (!(await isRepository(directory))) return undefined;
    const ask = async (name: string): Promise<string | undefined> => {
      const text = await this.#look(directory, ['symbolic-ref', '--quiet', '--short', name]).catch(() => '');
      const found = text.trim().replace(/^origin\//, '');
      return found === '' ? undefined : found;
    };
    return (await ask('refs/remotes/origin/HEAD')) ?? (await ask('HEAD'));
  }

  /** The state of the repository at `directory` itself; undefined when there is none. @throws GitFailed */
  async status(directory: string, signal: AbortSignal): Promise<GitStatus | undefined> {
    if (!(await isRepository(directory))) return undefined;
    const args = ['status', '--porcelain=v2', '--branch', '--untracked-files=normal', '--ignore-submodules=all', '-z'];
    return statusIn(await this.#look(directory, args, signal, await this.#withoutFilters(directory, signal)));
  }

  /** Filters are programs that a repository's own settings name: nothing that lies in a rig is run. */
  async #withoutFilters(directory: string, signal: AbortSignal): Promise<(readonly [string, string])[]> {
    const names = await this.#look(directory, ['config', '--null', '--name-only', '--get-regexp', '^filter\\.'], signal).catch(() => '');
    const drivers = new Set(names.split('\0').flatMap((name) => /^(filter\..+)\.[^.]+$/s.exec(name)?.[1] ?? []));
    return [...drivers].flatMap((driver) => [
      [`${driver}.clean`, ''] as const,
      [`${driver}.process`, ''] as const,
      [`${driver}.required`, 'false'] as const,
    ]);
  }

  #look(
    cwd: string,
    args: readonly string[],
    signal?: AbortSignal,
    settings: readonly (readonly [string, string])[] = [],
  ): Promise<string> {
    return git({ args: [`--git-dir=${path.join(cwd, '.git')}`, `--work-tree=${cwd}`, ...args], cwd, settings, signal, limitMs: LOOK_MS });
  }

  /** True for a server of the own network that the configuration names. */
  #isNamed({ host }: RepositorySource, port: number): boolean {
    return this.config.allowedTargets.some((target) => target.host === host && (target.port ?? port) === port);
  }
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

/** A directory above it does not count. */
async function isRepository(directory: string): Promise<boolean> {
  return lstat(path.join(directory, '.git')).then(
    (found) => found.isDirectory() || found.isFile(),
    () => false,
  );
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
