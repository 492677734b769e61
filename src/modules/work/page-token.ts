import { problem } from '../../contract/problems.js';

/** A place in a list by creation, newest first: the last row served. */
export interface Place {
  /** Microseconds since 1970, as text. */
  readonly createdAt: string;
  readonly id: string;
}

const PREFIX = 'v1:';

/** `kind` names the list (`bead`, `convoy`, `mail`): a token of one list is refused by the others. */
export function formatPlace(kind: string, place: Place): string {
  return PREFIX + Buffer.from(JSON.stringify({ k: kind, ca: place.createdAt, id: place.id })).toString('base64url');
}

/** @throws ProblemError invalid_cursor for anything that is not a token of this list. */
export function parsePlace(kind: string, text: string | undefined): Place | undefined {
  if (text === undefined) return undefined;
  const place = decode(kind, text);
  if (place === undefined) throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page');
  return place;
}

function decode(kind: string, text: string): Place | undefined {
  if (!text.startsWith(PREFIX) || !/^[A-Za-z0-9_-]+$/.test(text.slice(PREFIX.length))) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text.slice(PREFIX.length), 'base64url').toString());
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { k, ca, id } = value as Record<string, unknown>;
  if (k !== kind || typeof ca !== 'string' || !/^\d{1,17}$/.test(ca) || typeof id !== 'string' || id === '' || id.length > 255)
    return undefined;
  return /[\0\ud800-\udfff]/.test(id) ? undefined : { createdAt: ca, id };
}
