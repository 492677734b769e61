import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { problem } from '../../contract/problems.js';
import { AppConfig } from '../../platform/config/config.js';
import { TooDear } from '../../platform/threads/thread.js';
import { Threads } from '../../platform/threads/threads.js';
import { sleep } from '../../platform/time/clock.js';
import { compose } from '../composition/compose/compose.js';
import { SMALL } from '../composition/compose/limits.js';
import { Outgrown } from '../composition/compose/run.js';
import { errorsOf, type Issue } from '../composition/issue.js';
import { DiskPackStore } from '../composition/packs/disk-pack-store.js';
import type { PackStore } from '../composition/packs/pack-store.js';
import { DiskTree } from '../composition/trees/disk-tree.js';
import { TreeFailure, type FileTree } from '../composition/trees/file-tree.js';
import { Ledger } from '../composition/trees/ledger.js';
import { OverlayTree, type Overlay } from '../composition/trees/overlay-tree.js';
import { answerersOf } from '../composition/trees/remote.js';
import { DirectoriesService } from '../directories/directories.service.js';
import { attemptOf, filesOf, type Attempt, type ComposedFiles } from './composed.js';
import { composing } from './config-tasks.js';
import { rigsOutside, type Asking } from './rigs-outside.js';

export type Composing = Attempt & {
  /** What was read, to ask later whether it changed. */
  readonly ledger: Ledger;
};

/** The city that is composed. */
export interface ComposedCity {
  readonly name: string;
  readonly path: string;
}

export interface ComposeOptions {
  readonly overlay?: Overlay | undefined;
  /** Who asks for what the files say; nobody but the city itself when absent. */
  readonly asking?: Asking | undefined;
}

/** Files that never rest are taken as they were found after this many readings. */
const MOMENTS = 5;
const BETWEEN_MS = 20;
/** Cities that are known to be large. */
const KNOWN = 10_000;

/**
 * Composes the files of a city as they are on disk at one moment, or as they will be after an edit: a small one at once, any
 * other in a thread. Writes nothing, fetches nothing.
 */
@Injectable()
export class CityComposer {
  /** Directories whose last composing was more than may be done here. */
  readonly #large = new Set<string>();

  constructor(
    private readonly config: AppConfig,
    private readonly directories: DirectoriesService,
    private readonly threads: Threads,
  ) {}

  /** @throws ProblemError unavailable when the disk fails, a file is being written all the time, or too many wait for a thread */
  async compose(city: ComposedCity, options: ComposeOptions = {}): Promise<Composing> {
    for (let n = 1; ; n++) {
      try {
        const result = await this.#read(city, options);
        // When files change while they are read, half of a change may have been seen.
        if (n === MOMENTS || !(await result.ledger.changed())) return result;
      } catch (error) {
        if (!(error instanceof TreeFailure)) throw error;
        if (n === MOMENTS) throw problem('unavailable', `${error.path} cannot be read right now: ${error.message}`, { cause: error });
        await sleep(BETWEEN_MS);
      }
    }
  }

  async #read(city: ComposedCity, { overlay, asking }: ComposeOptions): Promise<Composing> {
    const { name, path: dir } = city;
    const ledger = new Ledger();
    const disk = new DiskTree(dir, '', ledger);
    const tree = overlay === undefined ? disk : new OverlayTree(disk, overlay);
    try {
      const { citiesRoot } = this.config;
      const isOthers = (directory: string): Promise<boolean> => this.directories.isOthers(directory, name);
      const packs = new DiskPackStore({ city: tree, cityDir: dir, citiesRoot, ledger, isOthers });
      const { issues, rigs, stored } = await this.#files(city, tree, packs);
      const { places, claims } = await rigsOutside(rigs, { city: dir, citiesRoot }, ledger, asking);
      if (errorsOf(issues).length > 0) return { ...attemptOf(stored, issues, claims), ledger };
      const refused = new Set(await this.directories.refusedRigs(name, claims));
      return { ...attemptOf(stored, [...issues, ...places.flatMap((place) => place.refusal(refused))], claims), ledger };
    } catch (error) {
      if (error instanceof TooDear) return { ...refused({ file: 'city.toml', message: `composing the city ${error.message}` }), ledger };
      if (!(error instanceof TreeFailure) || error.transient) throw error;
      return { ...refused({ file: error.path, message: error.message }), ledger };
    }
  }

  async #files({ name, path: dir }: ComposedCity, tree: FileTree, packs: PackStore): Promise<ComposedFiles> {
    const cityName = path.basename(dir);
    if (!this.#large.has(dir)) {
      try {
        return filesOf(await compose({ tree, packs, cityName, small: true }));
      } catch (error) {
        if (!(error instanceof Outgrown)) throw error;
      }
    }
    this.#large.delete(dir);
    const answer = await this.threads.run({ task: composing, owner: name, input: { cityName }, answerers: answerersOf(tree, packs) });
    if ('failure' in answer) throw new TreeFailure(answer.failure.path, answer.failure.message, true);
    const { files } = answer;
    if (!isSmall(files)) this.#remember(dir);
    return files;
  }

  #remember(dir: string): void {
    this.#large.add(dir);
    if (this.#large.size > KNOWN) this.#large.delete(this.#large.values().next().value!);
  }
}

/** What certainly is no more than may be done here need not go to a thread the next time. */
function isSmall({ stored }: ComposedFiles): boolean {
  return stored !== undefined && stored.configText.length + stored.originsText.length < SMALL.result / 2;
}

function refused({ file, message }: Pick<Issue, 'file' | 'message'>): Attempt {
  const issue = { severity: 'error', file, key: '', message } as const;
  return { errors: [issue], issues: [issue] };
}
