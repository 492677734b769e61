import { problem } from '../../../contract/problems.js';
import { decodeToken, encodeToken } from '../../../contract/token.js';

/** A place in a list by creation, newest first: the last row served. */
export interface Place {
  /** Microseconds since 1970, as text. */
  readonly createdAt: string;
  readonly id: string;
}

/** `kind` names the list (`bead`, `convoy`, `mail`): a token of one list is refused by the others. */
export function formatPlace(kind: string, place: Place): string {
  return encodeToken({ k: kind, ca: place.createdAt, id: place.id });
}

/** @throws ProblemError invalid_cursor for anything that is not a token of this list. */
export function parsePlace(kind: string, text: string | undefined): Place | undefined {
  if (text === undefined) return undefined;
  const place = decode(kind, text);
  if (place === undefined)
    throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
  return place;
}

function decode(kind: string, text: string): Place | undefined {
  const members = decodeToken(text);
  if (members === undefined) return undefined;
  const { k, ca, id } = members;
  if (k !== kind || typeof ca !== 'string' || !/^\d{1,17}$/.test(ca) || typeof id !== 'string' || id === '' || id.length > 255)
    return undefined;
  return { createdAt: ca, id };
}
