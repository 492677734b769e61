import { randomBytes } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, rename } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from '../runtime/port.js';
import { HeldFolder } from '../runtime/preparation/held-folder.js';
import type { Mount } from './mounts.js';

/** Bytes of a name that are kept: file systems take 255. */
const MAX_KEPT = 200;

/** What lies in a folder, by the names that lead there. */
export interface Lying {
  readonly names: readonly string[];
  /** As `whichLies` says it of what was judged. */
  readonly which: string | undefined;
}

/** Something in a folder that agents write, where something else is to be mounted. */
export class InTheWay extends StartError {
  /** Where it lies: a link, or what is of another kind. */
  readonly at: string;

  /**
   * @param wanted what lies in it is where something is to be seen
   * @param lying what is in the way
   */
  constructor(
    private readonly outer: Mount,
    wanted: readonly string[],
    why: string,
    private readonly lying: Lying,
    cause?: unknown,
  ) {
    const { from: root = outer.at } = outer;
    const at = path.join(root, ...lying.names);
    const how = `mv ${quoted(at)} ${quoted(path.join(path.dirname(at), `${cut(path.basename(at))}.away`))}`;
    super('unsupported', `something of the host is to be seen where ${path.join(root, ...wanted)} lies: ${why}; move it away: ${how}`, '', {
      cause,
    });
    this.at = at;
  }

  /** Whether it may be moved: nobody but the agent of this folder has put it there. */
  get isMovable(): boolean {
    return this.outer.isOwn === true && this.lying.names.length > 0;
  }

  /**
   * Gives it another name beside it, which nobody can know before. Answers where it lies now; undefined where it is not there any more: what an
   * agent has put there since may be in nobody's way.
   *
   * @throws this where it cannot be moved
   */
  async moveAway(): Promise<string | undefined> {
    const { names, which } = this.lying;
    const name = names.at(-1)!;
    const away = `${cut(name)}.away-${randomBytes(6).toString('hex')}`;
    let folder = await HeldFolder.open(this.outer.from ?? this.outer.at);
    try {
      for (const between of names.slice(0, -1)) {
        const next = await folder.inside(between, 0o755);
        if (next === undefined) return undefined;
        await folder.close();
        folder = next;
      }
      if ((await whichLies(folder.at(name))) !== which) return undefined;
      await rename(folder.at(name), folder.at(away));
      return path.join(path.dirname(this.at), away);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      this.cause = error;
      throw this;
    } finally {
      await folder.close();
    }
  }
}

/** Which of all things lies there, be it a link; undefined where nothing does, or nothing can be seen. */
export async function whichLies(at: string): Promise<string | undefined> {
  const found = await lstat(at, { bigint: true }).catch(() => undefined);
  return found && whichOf(found);
}

/** Its number alone does not do: what is made next may have that of what was removed. */
export function whichOf({ dev, ino, mode, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${mode}:${birthtimeNs}`;
}

/** Without what is left of a character at its end. */
function cut(name: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(name).subarray(0, MAX_KEPT), { stream: true });
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
