import { problem } from '../../../contract/problems.js';
import { decodeToken, encodeToken } from '../../../contract/token.js';

/** A place in the ready list: the last row served, in its order. */
export interface ReadyPlace {
  /** What it counts as: 2 for a bead without one. */
  readonly priority: number;
  /** Microseconds since 1970. */
  readonly createdAt: string;
  readonly id: string;
}

const KIND = 'ready';

export function formatReadyPlace({ priority, createdAt, id }: ReadyPlace, kind = KIND): string {
  return encodeToken({ k: kind, p: priority, ca: createdAt, id });
}

/** @throws ProblemError invalid_cursor for anything that is not a token of this list. */
export function parseReadyPlace(text: string | undefined, kind = KIND): ReadyPlace | undefined {
  if (text === undefined) return undefined;
  const place = decode(text, kind);
  if (place === undefined)
    throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
  return place;
}

function decode(text: string, kind: string): ReadyPlace | undefined {
  const members = decodeToken(text);
  if (members === undefined) return undefined;
  const { k, p, ca, id } = members;
  if (k !== kind || typeof p !== 'number' || !Number.isInteger(p) || Math.abs(p) > 32_767) return undefined;
  if (typeof ca !== 'string' || !/^\d{1,17}$/.test(ca) || typeof id !== 'string' || id === '' || id.length > 255) return undefined;
  return { priority: p, createdAt: ca, id };
}
