import { statfs } from 'node:fs/promises';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import { sleep } from '../time/clock.js';
import { processAnswering } from './answering.js';

export type DiskLevel = 'ok' | 'warn' | 'critical';

/** The place with the least room of those that a city writes to. */
export interface DiskState {
  readonly level: DiskLevel;
  readonly directory: string;
  readonly free: number;
}

/** A level is left when there is more room than it asks for by that much: one block more or less is no news. */
const EASED = 1.1;

/** A file system of another host may not answer at all. */
const ANSWER_MS = 5_000;

/** What is under way, by directory, of this process. */
const ASKED = new Map<string, Promise<number>>();

/** How much room there is where a city's files are and, when it is ours, the database. */
@Injectable()
export class Disk {
  /** Replaced in tests. */
  freeAt = (directory: string): Promise<number> => {
    let asked = ASKED.get(directory);
    if (asked === undefined) {
      asked = free(directory).finally(() => ASKED.delete(directory));
      ASKED.set(directory, asked);
    }
    return asked;
  };

  answerMs = ANSWER_MS;

  constructor(private readonly config: AppConfig) {}

  get limits(): { readonly warn: number; readonly floor: number } {
    return { warn: this.config.diskWarnBytes, floor: this.config.diskFloorBytes };
  }

  /** undefined where nothing answers: the directory is gone, for instance. */
  async look(city: string, before: DiskLevel): Promise<DiskState | undefined> {
    const { ownDatabaseDir } = this.config;
    const places = ownDatabaseDir === undefined ? [city] : [city, ownDatabaseDir];
    let least: Omit<DiskState, 'level'> | undefined;
    for (const directory of places) {
      const free = await this.freeOf(directory);
      if (free !== undefined && (least === undefined || free < least.free)) least = { directory, free };
    }
    return least && { ...least, level: levelOf(least.free, before, this.limits) };
  }

  /** undefined where nothing answers. */
  async freeOf(directory: string): Promise<number | undefined> {
    const stop = new AbortController();
    try {
      return await Promise.race([this.freeAt(directory), sleep(this.answerMs, stop.signal).then(() => undefined)]);
    } catch {
      return undefined;
    } finally {
      stop.abort();
    }
  }
}

/** A disk that is known not to answer keeps no thread more, however many cities are on it. */
async function free(directory: string): Promise<number> {
  if (!(await processAnswering.answers(directory, ANSWER_MS))) throw new Error(`the disk of ${directory} does not answer`);
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

export function levelOf(free: number, before: DiskLevel, { warn, floor }: { readonly warn: number; readonly floor: number }): DiskLevel {
  if (free < (before === 'critical' ? floor * EASED : floor)) return 'critical';
  return free < (before === 'ok' ? warn : warn * EASED) ? 'warn' : 'ok';
}
