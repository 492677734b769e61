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
  /** How many folders went, once they have. However much they hold, nobody has to wait for it. */
  readonly removed: Promise<number>;
}

/** The folders of sessions: they last as long as those. */
@Injectable()
export class SessionFolders {
  constructor(private readonly repository: LaunchRepository) {}

  /** Removes the folders of sessions that are over, but that of `keep`. */
  async sweep(city: string, streamId: number, keep?: string): Promise<Swept> {
    // What is there is looked at first: who comes after it is not among those that are taken away.
    const found = await this.#found(city);
    const open = await this.repository.openSessions(streamId);
    const stay = new Set([COMMANDS, ...open, ...(keep === undefined ? [] : [keep])]);
    const over = found.filter((name) => !stay.has(name));
    return { open, removed: removedOf(over.map((name) => path.join(city, SESSIONS, name))) };
  }

  /** Nothing where there is none, or where a link leads elsewhere. */
  async #found(city: string): Promise<string[]> {
    const all = path.join(city, SESSIONS);
    const at = await realpath(all).catch(() => undefined);
    return at === all ? readdir(all) : [];
  }
}

/** How many of the trees have gone. One after the other: each keeps as many folders open as it is deep, and a city may have thousands. */
async function removedOf(trees: readonly string[]): Promise<number> {
  let removed = 0;
  for (const tree of trees)
    await removeTree(tree).then(
      () => removed++,
      () => undefined,
    );
  return removed;
}
