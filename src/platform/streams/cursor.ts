import { problem } from '../../contract/problems.js';
import { CITY_NAME_PATTERN, SUPERVISOR_STREAM } from '../../contract/scalars.js';
import type { PositionSeal } from './position-seal.js';

/** Stream name -> the last seq that the client has. */
export type NamedPositions = ReadonlyMap<string, number>;

const SEQ = /^(0|[1-9]\d{0,15})$/;
const OPAQUE = /^~([0-9a-z]{1,12})\.([A-Za-z0-9_-]*)$/;
/** 10,000 cities with long names make about 700 KB; anything longer is not a cursor. */
const MAX_LENGTH = 1 << 20;
/** Stream ids are Postgres integers; a larger one was never handed out. */
const MAX_STREAM_ID = 2 ** 31 - 1;

const malformed = (what: string, value: string): Error =>
  problem('invalid_cursor', `${what} is not a position: "${value.length > 60 ? `${value.slice(0, 60)}…` : value}"`, { at: placeOf(what) });

export const LAST_EVENT_ID = 'header.Last-Event-ID';

/** The place in a request (for a problem's `errors`) of the position that is called `what`. */
export function placeOf(what: string): string {
  return what === 'Last-Event-ID' ? LAST_EVENT_ID : `query.${what}`;
}

/** The problem of a position that this log does not have, as after a restore, or after a standby took over that lacked it. `goOn` is the position to go on from. */
export function ahead(what: string, position: string, newest: string, goOn = newest): Error {
  return problem('cursor_ahead', `${what} is ahead of the log: ${position}, which has nothing after ${newest}; go on from ${goOn}`);
}

/** The problem of a position after which the log has dropped events. `oldest` is the first position that can still be resumed from. */
export function expired(oldest: string): Error {
  return problem('cursor_expired', `the log no longer holds this position; the oldest position is ${oldest}`);
}

/**
 * Cities that joined and left while a client was away and whose events are still delivered. Its ids name each of them until that is done, and each chunk may
 * need a stored row with all of them.
 */
export const MOST_MISSED = 5_000;

/** The problem of more such cities than `most`, also of those that a position names. `instead` says what the client can do. */
export function missedTooMany(what: string, most: number, instead: string): Error {
  return problem('cursor_expired', `more than ${most} cities have left since ${what}; the oldest position is now the head, ${instead}`);
}

/** A city position: a decimal sequence number; 0 is before the first event. */
export function parseSeq(value: string, what: string): number {
  const n = SEQ.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(n)) throw malformed(what, value);
  return n;
}

/** `name:seq` pairs joined by commas. Nothing is dropped silently: a malformed part or a repeated name is refused. */
export function parseComposite(value: string, what: string): NamedPositions {
  if (value.length > MAX_LENGTH) throw malformed(what, value);
  const positions = new Map<string, number>();
  for (const part of value.split(',')) {
    const at = part.lastIndexOf(':');
    const name = part.slice(0, Math.max(at, 0));
    const known = name === SUPERVISOR_STREAM || CITY_NAME_PATTERN.test(name);
    if (at < 0 || !known || positions.has(name) || !SEQ.test(part.slice(at + 1))) throw malformed(what, value);
    positions.set(name, parseSeq(part.slice(at + 1), what));
  }
  return positions;
}

/** Compares as Postgres compares under collation C: names are ASCII. */
export const byteOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function formatComposite(positions: NamedPositions): string {
  return [...positions]
    .sort(([a], [b]) => byteOrder(a, b))
    .map(([name, seq]) => `${name}:${seq}`)
    .join(',');
}

/** An opaque id: a stored cursor, and how far some streams have moved from it. */
export interface OpaqueCursor {
  readonly checkpoint: number;
  /** Pairs of stream id and distance from the checkpoint's seq; negative when the client is behind it. */
  readonly moved: readonly (readonly [streamId: number, distance: number])[];
}

export function isOpaque(value: string): boolean {
  return value.startsWith('~');
}

/** @throws ProblemError invalid_cursor, also for one that this deployment has not handed out. */
export function parseOpaque(value: string, what: string, seal: PositionSeal): OpaqueCursor {
  const match = OPAQUE.exec((value.length > MAX_LENGTH ? undefined : seal.verify(value)) ?? '');
  if (match === null) throw malformed(what, value);
  const checkpoint = Number.parseInt(match[1]!, 36);
  if (!Number.isSafeInteger(checkpoint)) throw malformed(what, value);
  const numbers = decodeVarints(Buffer.from(match[2]!, 'base64url'));
  if (numbers === undefined || numbers.length % 2 !== 0) throw malformed(what, value);
  const moved: [number, number][] = [];
  for (let i = 0; i < numbers.length; i += 2) {
    if (numbers[i]! < 1 || numbers[i]! > MAX_STREAM_ID) throw malformed(what, value);
    moved.push([numbers[i]!, unzigzag(numbers[i + 1]!)]);
  }
  return { checkpoint, moved };
}

export function formatOpaque(cursor: OpaqueCursor, seal: PositionSeal): string {
  const bytes: number[] = [];
  for (const [streamId, distance] of cursor.moved) {
    pushVarint(bytes, streamId);
    pushVarint(bytes, zigzag(distance));
  }
  return seal.sign(`~${cursor.checkpoint.toString(36)}.${Buffer.from(bytes).toString('base64url')}`);
}

const zigzag = (n: number): number => (n < 0 ? -n * 2 - 1 : n * 2);
const unzigzag = (n: number): number => (n % 2 === 1 ? -(n + 1) / 2 : n / 2);

function pushVarint(bytes: number[], value: number): void {
  let n = value;
  while (n >= 0x80) {
    bytes.push((n % 0x80) | 0x80);
    n = Math.floor(n / 0x80);
  }
  bytes.push(n);
}

function decodeVarints(bytes: Buffer): number[] | undefined {
  const numbers: number[] = [];
  let value = 0;
  let scale = 1;
  for (const byte of bytes) {
    value += (byte & 0x7f) * scale;
    scale *= 0x80;
    if (byte < 0x80) {
      if (!Number.isSafeInteger(value)) return undefined;
      numbers.push(value);
      value = 0;
      scale = 1;
    } else if (scale > 2 ** 50) return undefined;
  }
  return scale === 1 ? numbers : undefined;
}
