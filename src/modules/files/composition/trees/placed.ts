import type { BigIntStats, Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { processPlaces } from '../../../../platform/disk/disk-places.js';

/** As those of Node, of files of cities: each waits for a place, so that a disk that does not answer keeps few threads. */
export const lstat = (at: string): Promise<BigIntStats> => processPlaces.run(at, () => fs.lstat(at, { bigint: true }));
export const stat = (at: string): Promise<Stats> => processPlaces.run(at, () => fs.stat(at));
export const realpath = (at: string): Promise<string> => processPlaces.run(at, () => fs.realpath(at));
