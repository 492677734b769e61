import { task } from '../../../platform/threads/task.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { compose } from '../../files/composition/compose/compose.js';
import { masked } from '../../files/composition/mask.js';
import { TreeFailure } from '../../files/composition/trees/file-tree.js';
import { RemoteTrees } from '../../files/composition/trees/remote.js';
import { changesOf, keysBetween, type NamedChange } from './changes.js';
import { filesOf, type ComposedFiles } from './composed.js';
import type { ConfigDiffBody, ConfigValue } from './config.schemas.js';
import { differencesBetween, valuesAt, type Origin } from './explained.js';

/* What is done with whole configurations, as functions of texts: large ones never become objects on the event loop. */

/** Composes the files that the thread is given. A failure is one that another try may not have. */
export const composing = task(
  import.meta.url,
  'composing',
  async ({ cityName }: { cityName: string }, ask): Promise<{ files: ComposedFiles } | { failure: { path: string; message: string } }> => {
    const packs = new RemoteTrees(ask);
    try {
      return { files: filesOf(await compose({ tree: packs.city, packs, cityName })) };
    } catch (error) {
      if (!(error instanceof TreeFailure)) throw error;
      return { failure: { path: error.path, message: error.message } };
    }
  },
);

export interface Comparison {
  /** The first keys that differ, and how many do. */
  readonly keys: readonly string[];
  readonly total: number;
  readonly changes: readonly NamedChange[];
}

export interface TwoConfigs {
  readonly before: string;
  readonly after: string;
}

const KEYS_KEPT = 1_000;

/** What a new revision changes. */
export const comparing = task(import.meta.url, 'comparing', ({ before, after }: TwoConfigs): Comparison => {
  const [old, now] = [parsed(before), parsed(after)];
  const keys = keysBetween(old, now);
  return { keys: keys.slice(0, KEYS_KEPT), total: keys.length, changes: changesOf(old, now) };
});

/** The same for people, with values. */
export const differing = task(
  import.meta.url,
  'differing',
  ({ before, after }: TwoConfigs): Pick<ConfigDiffBody, 'differences' | 'total'> => differencesBetween(parsed(before), parsed(after)),
);

export interface Explaining {
  readonly config: string;
  readonly origins: string;
  readonly path: string | undefined;
  readonly start: number;
  readonly limit: number;
}

/** Some of the values at or below a path, with where they were written, and how many there are. */
export const explaining = task(
  import.meta.url,
  'explaining',
  ({ config, origins, path, start, limit }: Explaining): { values: ConfigValue[]; total: number } => {
    const values = valuesAt(parsed(config), JSON.parse(origins) as Origin[], path);
    return { values: values.slice(start, start + limit), total: values.length };
  },
);

/** A configuration as it may be shown, as JSON. */
export const showing = task(import.meta.url, 'showing', (config: string): string => JSON.stringify(masked(JSON.parse(config))));

function parsed(text: string): CityConfig {
  return JSON.parse(text) as CityConfig;
}
