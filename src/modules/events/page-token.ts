import { problem } from '../../contract/problems.js';
import { decodeToken, encodeToken } from '../../contract/token.js';

/**
 * Page tokens: `v1:` and base64url of a small JSON object. `sq` continues a city's list downwards from a seq and
 * `sa` upwards; `tq` continues the supervisor's list downwards from a place in its order and `sv` upwards from a
 * position of the whole feed. A token carries a place, never a filter: repeat the parameters with it.
 */
export type PageToken =
  | { readonly k: 'sq'; readonly s: number }
  | { readonly k: 'sa'; readonly s: number }
  | { readonly k: 'tq'; readonly t: number; readonly i: number; readonly s: number }
  | { readonly k: 'sv'; readonly p: string };

export function formatToken(token: PageToken): string {
  return encodeToken(token);
}

/** @throws 400 invalid_cursor for anything that is not a token of one of `kinds`. */
export function parseToken<K extends PageToken['k']>(
  text: string | undefined,
  kinds: readonly K[],
): Extract<PageToken, { k: K }> | undefined {
  if (text === undefined) return undefined;
  const token = decode(text);
  if (token === undefined || !(kinds as readonly string[]).includes(token.k))
    throw problem('invalid_cursor', 'cursor is not a page token of this list', { at: 'query.cursor' });
  return token as Extract<PageToken, { k: K }>;
}

const positive = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) > 0;

function decode(text: string): PageToken | undefined {
  const members = decodeToken(text);
  if (members === undefined) return undefined;
  const { k, s, t, i, p } = members;
  if ((k === 'sq' || k === 'sa') && positive(s)) return { k, s };
  if (k === 'tq' && positive(s) && positive(t) && positive(i) && i < 2 ** 31) return { k, s, t, i };
  if (k === 'sv' && typeof p === 'string') return { k, p };
  return undefined;
}
