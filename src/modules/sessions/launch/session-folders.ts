import { readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { removeTree } from '../../../platform/runtime/preparation/remove-tree.js';
import { LaunchRepository } from './launch.repository.js';

/** In the city's directory: what sessions keep for themselves, a folder for each. No session sees those of others. */
export const SESSIONS = '.gc/sessions';
/** Among them: what commands of the city that are no session's keep. No id begins like that. */
export const COMMANDS = '@commands';

export interface Swept {
  /** Ids of the sessions that are not closed. */
  readonly open: readonly string[];
  /** How many folders went that no sweep before it had begun with, once all have. However much they hold, nobody has to wait for it. */
  readonly removed: Promise<number>;
}

/** What goes on in one city. */
interface Removal {
  /** Names of folders that are being taken away, or are to be. */
  readonly names: Set<string>;
  /** How many the last sweep took away, once it has. */
  removed: Promise<number>;
}

/** The folders of sessions: they last as long as those. */
@Injectable()
export class SessionFolders {
  /** By city. Each session that begins sweeps: all of them would go through the same trees at once. */
  readonly #removals = new Map<string, Removal>();

  constructor(private readonly repository: LaunchRepository) {}

  /** Removes the folders of sessions that are over, but that of `keep`. */
  async sweep(city: string, streamId: number, keep?: string): Promise<Swept> {
    // What is there is looked at first: who comes after it is not among those that are taken away.
    const found = await this.#found(city);
    const open = await this.repository.openSessions(streamId);
    const stay = new Set([COMMANDS, ...open, ...(keep === undefined ? [] : [keep])]);
    const over = found.filter((name) => !stay.has(name));
    return { open, removed: over.length === 0 ? Promise.resolve(0) : this.#removed(city, over) };
  }

  /** What is to go already is not begun again; what is not goes behind it. */
  #removed(city: string, over: readonly string[]): Promise<number> {
    const removal = this.#removals.get(city) ?? { names: new Set(), removed: Promise.resolve(0) };
    const fresh = over.filter((name) => !removal.names.has(name));
    if (fresh.length === 0) return removal.removed.then(() => 0);
    this.#removals.set(city, removal);
    for (const name of fresh) removal.names.add(name);
    removal.removed = removal.removed.then(async () => {
      const removed = await removedOf(city, fresh, removal.names);
      if (removal.names.size === 0) this.#removals.delete(city);
      return removed;
    });
    return removal.removed;
  }

  /** Nothing where there is none, or where a link leads elsewhere. */
  async #found(city: string): Promise<string[]> {
    const all = path.join(city, SESSIONS);
    const at = await realpath(all).catch(() => undefined);
    return at === all ? readdir(all) : [];
  }
}

/**
 * How many of the folders have gone. One after the other: each keeps as many folders open as it is deep, and a city may have thousands. What has
 * had its turn leaves `names`: where it could not be removed, the next sweep tries again.
 */
async function removedOf(city: string, folders: readonly string[], names: Set<string>): Promise<number> {
  let removed = 0;
  for (const name of folders) {
    await removeTree(path.join(city, SESSIONS, name)).then(
      () => removed++,
      () => undefined,
    );
    names.delete(name);
  }
  return removed;
}
