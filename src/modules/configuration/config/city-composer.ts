import { createHash } from 'node:crypto';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { VERSION } from '../../../contract/version.js';
import { AppConfig } from '../../../platform/config/config.js';
import { processAnswering } from '../../../platform/disk/answering.js';
import { TooDear } from '../../../platform/threads/thread.js';
import { Threads } from '../../../platform/threads/threads.js';
import { sleep } from '../../../platform/time/clock.js';
import type { Share } from '../../../platform/turns/budget.js';
import { compose } from '../../files/composition/compose/compose.js';
import { LIMITS, SMALL } from '../../files/composition/compose/limits.js';
import { Outgrown } from '../../files/composition/compose/run.js';
import { errorsOf, type Issue } from '../../files/composition/issue.js';
import { DiskPackStore } from '../../files/composition/packs/disk-pack-store.js';
import type { PackStore } from '../../files/composition/packs/pack-store.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import { TreeFailure, type FileTree } from '../../files/composition/trees/file-tree.js';
import { Ledger } from '../../files/composition/trees/ledger.js';
import { OverlayTree, type Overlay } from '../../files/composition/trees/overlay-tree.js';
import { answerersOf } from '../../files/composition/trees/remote.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { attemptOf, filesOf, type Attempt, type ComposedFiles } from './composed.js';
import { composing } from './config-tasks.js';
import { rigsOutside, type Asking } from './rigs-outside.js';

export type Composing = Attempt & {
  /** What was read, to ask later whether it changed. */
  readonly ledger: Ledger;
  /** Of an edit: the files that the configuration is not made of. */
  readonly overlooked: readonly string[];
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

/** What is held of the budget for large texts. */
interface Holding {
  share?: Share;
}

/** Files that never rest are taken as they were found after this many readings. */
const MOMENTS = 5;
const BETWEEN_MS = 20;
/** How long whoever asks for something waits for a file system that does not answer. */
const ANSWER_MS = 10_000;
/** Cities that are known to be large. */
const KNOWN = 10_000;

/**
 * Composes the files of a city as they are on disk at one moment, or as they will be after an edit: a small one at once, any
 * other in a thread. Writes nothing, fetches nothing.
 */
@Injectable()
export class CityComposer {
  /** Directories whose last composing was more than may be done here, and how many characters it gave. */
  readonly #large = new Map<string, number>();

  /** Replaced in tests. */
  answering = processAnswering;

  constructor(
    private readonly config: AppConfig,
    private readonly directories: DirectoriesService,
    private readonly threads: Threads,
  ) {}

  /** What an earlier composing has read, as it was stored; undefined when the same files may be something else by now. */
  ledgerOf(stored: string | undefined, dir: string): Ledger | undefined {
    return stored === undefined ? undefined : Ledger.from(stored, this.#basis(dir));
  }

  /** What a result depends on beside the files: also whose they are, for what was read elsewhere says nothing of this city. */
  #basis(dir: string): string {
    const { citiesRoot, allowedPaths } = this.config;
    const hash = createHash('sha256').update(JSON.stringify([citiesRoot, allowedPaths, dir]));
    return `${VERSION} ${hash.digest('hex')}`;
  }

  /**
   * Composes, and answers what `use` makes of the result. Large results take turns, one of a city at a time: `use` waits neither for
   * another composing nor in a transaction that somebody else needs for one.
   *
   * @throws ProblemError unavailable when the disk fails or does not answer, a file is being written all the time, or too many wait for their turn
   */
  async compose<T>(city: ComposedCity, options: ComposeOptions, use: (result: Composing) => Promise<T> | T): Promise<T> {
    await this.requireAnswer(city);
    const holding: Holding = {};
    try {
      return await use(await this.#resting(city, options, holding));
    } finally {
      holding.share?.giveBack();
    }
  }

  /** Before the files of a city are read: each that is never answered keeps a thread of the process. @throws ProblemError unavailable */
  async requireAnswer({ name, path: dir }: ComposedCity): Promise<void> {
    if (await this.answers(dir)) return;
    throw problem('unavailable', `the disk with the files of ${name} does not answer`);
  }

  /** False for a directory whose disk does not answer. */
  answers(dir: string): Promise<boolean> {
    return this.answering.answers(dir, ANSWER_MS);
  }

  async #resting(city: ComposedCity, options: ComposeOptions, holding: Holding): Promise<Composing> {
    for (let n = 1; ; n++) {
      try {
        const result = await this.#read(city, options, holding);
        // When files change while they are read, half of a change may have been seen.
        if (n === MOMENTS || !(await result.ledger.changed())) return result;
      } catch (error) {
        if (!(error instanceof TreeFailure)) throw error;
        if (n === MOMENTS) throw problem('unavailable', `${error.path} cannot be read right now: ${error.message}`, { cause: error });
      }
      await sleep(BETWEEN_MS);
    }
  }

  async #read(city: ComposedCity, { overlay, asking }: ComposeOptions, holding: Holding): Promise<Composing> {
    const { name, path: dir } = city;
    const ledger = new Ledger(this.#basis(dir));
    const disk = new DiskTree(dir, '', ledger);
    const edited = overlay === undefined ? undefined : new OverlayTree(disk, overlay);
    const tree = edited ?? disk;
    const found = (attempt: Attempt): Composing => ({ ...attempt, ledger, overlooked: edited?.overlooked() ?? [] });
    try {
      const { citiesRoot, allowedPaths } = this.config;
      const isOthers = (directory: string): Promise<boolean> => this.directories.isOthers(directory, name);
      const packs = new DiskPackStore({ city: tree, cityDir: dir, citiesRoot, ledger, isOthers });
      const { issues, rigs, stored } = await this.#files(city, tree, packs, holding);
      const { places, claims } = await rigsOutside(rigs, { city: dir, citiesRoot, allowedPaths }, ledger, asking);
      if (errorsOf(issues).length > 0) return found(attemptOf(stored, issues, claims));
      const refused = new Set(await this.directories.refusedRigs(name, claims));
      return found(attemptOf(stored, [...issues, ...places.flatMap((place) => place.refusal(refused))], claims));
    } catch (error) {
      if (error instanceof TooDear) return found(refused({ file: 'city.toml', message: `composing the city ${error.message}` }));
      if (!(error instanceof TreeFailure) || error.transient) throw error;
      return found(refused({ file: error.path, message: error.message }));
    }
  }

  async #files({ name, path: dir }: ComposedCity, tree: FileTree, packs: PackStore, holding: Holding): Promise<ComposedFiles> {
    const cityName = path.basename(dir);
    holding.share?.giveBack();
    const known = this.#large.get(dir);
    if (known === undefined) {
      try {
        return filesOf(await compose({ tree, packs, cityName, small: true }));
      } catch (error) {
        if (!(error instanceof Outgrown)) throw error;
      }
    }
    this.#large.delete(dir);
    const share = (holding.share = await this.threads.hold(name, known ?? LIMITS.result));
    const answer = await this.threads.run({ task: composing, owner: name, input: { cityName }, answerers: answerersOf(tree, packs) });
    if ('failure' in answer) throw new TreeFailure(answer.failure.path, answer.failure.message, true);
    const { files } = answer;
    const size = sizeOf(files);
    share.shrink(size);
    // What certainly is no more than may be done here need not go to a thread the next time; what cannot be used may be anything then.
    if (files.stored === undefined) this.#remember(dir, LIMITS.result);
    else if (size >= SMALL.result / 2) this.#remember(dir, size);
    return files;
  }

  #remember(dir: string, size: number): void {
    this.#large.set(dir, size);
    if (this.#large.size > KNOWN) this.#large.delete(this.#large.keys().next().value!);
  }
}

/** Characters of what is held of a result until it is stored. */
function sizeOf({ stored }: ComposedFiles): number {
  if (stored === undefined) return 0;
  const { configText, originsText, answer, texts } = stored;
  return configText.length + originsText.length + answer.length + [...texts.values()].reduce((sum, text) => sum + text.length, 0);
}

function refused({ file, message }: Pick<Issue, 'file' | 'message'>): Attempt {
  const issue = { severity: 'error', file, key: '', message } as const;
  return { errors: [issue], issues: [issue] };
}
