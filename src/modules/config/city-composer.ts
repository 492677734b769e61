import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { problem } from '../../contract/problems.js';
import { AppConfig } from '../../platform/config/config.js';
import { sleep } from '../../platform/time/clock.js';
import { compose } from '../composition/compose/compose.js';
import { DiskPackStore } from '../composition/packs/disk-pack-store.js';
import { DiskTree } from '../composition/trees/disk-tree.js';
import { TreeFailure } from '../composition/trees/file-tree.js';
import { Ledger } from '../composition/trees/ledger.js';
import { OverlayTree, type Overlay } from '../composition/trees/overlay-tree.js';
import { attemptOf, type Attempt } from './composed.js';

export type Composing = Attempt & {
  /** What was read, to ask later whether it changed. */
  readonly ledger: Ledger;
};

/** Files that never rest are taken as they were found after this many readings. */
const MOMENTS = 5;
const BETWEEN_MS = 20;

/** Composes the files of a city as they are on disk at one moment, or as they will be after an edit. Writes nothing, fetches nothing. */
@Injectable()
export class CityComposer {
  constructor(private readonly config: AppConfig) {}

  /** @throws ProblemError unavailable when the disk fails, or a file is being written all the time */
  async compose(dir: string, overlay?: Overlay): Promise<Composing> {
    for (let n = 1; ; n++) {
      try {
        const result = await this.#read(dir, overlay);
        // When files change while they are read, half of a change may have been seen.
        if (n === MOMENTS || !(await result.ledger.changed())) return result;
      } catch (error) {
        if (!(error instanceof TreeFailure)) throw error;
        if (n === MOMENTS) throw problem('unavailable', `${error.path} cannot be read right now: ${error.message}`, { cause: error });
        await sleep(BETWEEN_MS);
      }
    }
  }

  async #read(dir: string, overlay?: Overlay): Promise<Composing> {
    const ledger = new Ledger();
    const disk = new DiskTree(dir, '', ledger);
    const tree = overlay === undefined ? disk : new OverlayTree(disk, overlay);
    try {
      const packs = new DiskPackStore({ city: tree, cityDir: dir, citiesRoot: this.config.citiesRoot, ledger });
      const { config, issues } = await compose({ tree, packs, cityName: path.basename(dir) });
      return { ...attemptOf(config, issues), ledger };
    } catch (error) {
      if (!(error instanceof TreeFailure) || error.transient) throw error;
      const issue = { severity: 'error', file: error.path, key: '', message: error.message } as const;
      return { errors: [issue], issues: [issue], ledger };
    }
  }
}
