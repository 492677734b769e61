import { lstatSync, type BigIntStats, type Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import path from 'node:path';
import { processAnswering } from '../../../../platform/disk/answering.js';
import { processPlaces } from '../../../../platform/disk/disk-places.js';
import { diskOf } from '../../../../platform/disk/mounts.js';
import { nextTurn } from '../../../../platform/turns/turn-end.js';
import { isAbsent } from './paths.js';

const ANSWER_MS = 5_000;
/** Files at hand are looked at for so long in one turn of the event loop. */
const TURN_MS = 4;

/** When the first file was looked at in this turn. */
let begun: number | undefined;

/** Resolves when a file at hand may be looked at: such a look takes some microseconds, where asking a thread takes sixty. */
export async function turnForLook(): Promise<void> {
  if (begun !== undefined && performance.now() - begun > TURN_MS) await nextTurn();
  if (begun !== undefined) return;
  begun = performance.now();
  setImmediate(() => (begun = undefined));
}

/**
 * As those of Node, of files of cities. What is not at hand waits for a place each, so that a disk that does not answer keeps few threads. No link
 * is followed without a thread: it may lead to such a disk.
 */
export async function lstat(at: string): Promise<BigIntStats> {
  if (!processPlaces.isAtHand(at)) return processPlaces.run(at, () => fs.lstat(at, { bigint: true }));
  await turnForLook();
  return lstatSync(at, { bigint: true });
}
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

/** The real path of `name`, which has no `..`, below a real path; undefined when it is not there. */
export async function realpathBelow(root: string, name: string): Promise<string | undefined> {
  const plain = await plainPathBelow(root, name);
  return plain === undefined ? orAbsent(realpath(path.join(root, name))) : plain.at;
}

/** The same; undefined where a link is on the way or not all of it is at hand. */
async function plainPathBelow(root: string, name: string): Promise<{ readonly at: string | undefined } | undefined> {
  let at = root;
  for (const part of name === '' ? ['.'] : name.split('/')) {
    at = path.join(at, part);
    if (!processPlaces.isAtHand(at)) return undefined;
    await turnForLook();
    try {
      const found = lstatSync(at, { throwIfNoEntry: false });
      if (found === undefined) return { at: undefined };
      if (found.isSymbolicLink()) return undefined;
    } catch {
      return undefined;
    }
  }
  return { at };
}

export async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
