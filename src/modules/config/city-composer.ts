import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { problem } from '../../contract/problems.js';
import { AppConfig } from '../../platform/config/config.js';
import { sleep } from '../../platform/time/clock.js';
import { compose } from '../composition/compose/compose.js';
import { errorsOf } from '../composition/issue.js';
import { DiskPackStore } from '../composition/packs/disk-pack-store.js';
import { DiskTree } from '../composition/trees/disk-tree.js';
import { TreeFailure } from '../composition/trees/file-tree.js';
import { Ledger } from '../composition/trees/ledger.js';
import { OverlayTree, type Overlay } from '../composition/trees/overlay-tree.js';
import { DirectoriesService } from '../directories/directories.service.js';
import { attemptOf, type Attempt } from './composed.js';
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

/** Composes the files of a city as they are on disk at one moment, or as they will be after an edit. Writes nothing, fetches nothing. */
@Injectable()
export class CityComposer {
  constructor(
    private readonly config: AppConfig,
    private readonly directories: DirectoriesService,
  ) {}

  /** @throws ProblemError unavailable when the disk fails, or a file is being written all the time */
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

  async #read({ name, path: dir }: ComposedCity, { overlay, asking }: ComposeOptions): Promise<Composing> {
    const ledger = new Ledger();
    const disk = new DiskTree(dir, '', ledger);
    const tree = overlay === undefined ? disk : new OverlayTree(disk, overlay);
    try {
      const { citiesRoot } = this.config;
      const isOthers = (directory: string): Promise<boolean> => this.directories.isOthers(directory, name);
      const packs = new DiskPackStore({ city: tree, cityDir: dir, citiesRoot, ledger, isOthers });
      const { config, issues } = await compose({ tree, packs, cityName: path.basename(dir) });
      const { places, claims } = await rigsOutside(config, { city: dir, citiesRoot }, ledger, asking);
      if (errorsOf(issues).length > 0) return { ...attemptOf(config, issues, claims), ledger };
      const refused = new Set(await this.directories.refusedRigs(name, claims));
      return { ...attemptOf(config, [...issues, ...places.flatMap((place) => place.refusal(refused))], claims), ledger };
    } catch (error) {
      if (!(error instanceof TreeFailure) || error.transient) throw error;
      const issue = { severity: 'error', file: error.path, key: '', message: error.message } as const;
      return { errors: [issue], issues: [issue], ledger };
    }
  }
}
