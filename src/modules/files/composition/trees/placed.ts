import type { BigIntStats, Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import path from 'node:path';
import { processAnswering } from '../../../../platform/disk/answering.js';
import { processPlaces } from '../../../../platform/disk/disk-places.js';
import { diskOf } from '../../../../platform/disk/mounts.js';

const ANSWER_MS = 5_000;

/** As those of Node, of files of cities: each waits for a place, so that a disk that does not answer keeps few threads. */
export const lstat = (at: string): Promise<BigIntStats> => processPlaces.run(at, () => fs.lstat(at, { bigint: true }));
export const realpath = (at: string): Promise<string> => processPlaces.run(at, () => fs.realpath(at));
/** As `realpath`, of a link that is known to lead there: it waits for the disk on which that lies. */
export const realpathTo = (at: string, to: string): Promise<string> => processPlaces.run(to, () => fs.realpath(at));

/** What a link leads to: it waits for the disk on which that lies. @throws Error ETIMEDOUT when that one does not answer */
export async function statTarget(link: string): Promise<Stats> {
  const to = path.resolve(path.dirname(link), await processPlaces.run(link, () => fs.readlink(link)));
  if (diskOf(to) !== diskOf(link) && !(await processAnswering.answers(to, ANSWER_MS)))
    throw Object.assign(new Error(`the disk of ${to} does not answer`), { code: 'ETIMEDOUT' });
  return processPlaces.run(to, () => fs.stat(link));
}
