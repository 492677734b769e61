import { problem } from '../../../contract/problems.js';
import { decodeToken, encodeToken } from '../../../contract/token.js';
import type { PositionSeal } from '../../../platform/streams/position-seal.js';

/**
 * Page tokens: `v1:` and base64url of a small JSON object. `sq` continues a city's list downwards from a seq and `sa` upwards. A
 * token carries a place, never a filter: repeat the parameters with it.
 */
export type CityToken = { readonly k: 'sq'; readonly s: number } | { readonly k: 'sa'; readonly s: number };

/**
 * `tq` continues the supervisor's list downwards from a place in its order and `sv` upwards from a position of the whole feed.
 * The place may be an event of a city that the reader may not see: these are hidden, and known again by the deployment's secret.
 */
export type FeedToken =
  | { readonly k: 'tq'; readonly t: number; readonly i: number; readonly s: number }
  | { readonly k: 'sv'; readonly p: string };

export function formatToken(token: CityToken): string {
  return encodeToken(token);
}

/** @throws 400 invalid_cursor for anything that is not a token of one of `kinds`. */
export function parseToken<K extends CityToken['k']>(
  text: string | undefined,
  kinds: readonly K[],
): Extract<CityToken, { k: K }> | undefined {
  if (text === undefined) return undefined;
  const { k, s } = decodeToken(text) ?? {};
  if (!kinds.includes(k as K) || !positive(s)) throw refused();
  return { k, s } as Extract<CityToken, { k: K }>;
}

const PREFIX = 'v2:';

export function formatFeedToken(token: FeedToken, seal: PositionSeal): string {
  return PREFIX + seal.hide(JSON.stringify(token));
}

/** @throws 400 invalid_cursor for anything that is not a token of one of `kinds` which this deployment has handed out. */
export function parseFeedToken<K extends FeedToken['k']>(
  text: string,
  kinds: readonly K[],
  seal: PositionSeal,
): Extract<FeedToken, { k: K }> {
  const json = text.startsWith(PREFIX) ? seal.reveal(text.slice(PREFIX.length)) : undefined;
  // Whatever can be revealed was made here: its shape is known.
  const token = json === undefined ? undefined : (JSON.parse(json) as FeedToken);
  if (token === undefined || !kinds.includes(token.k as K)) throw refused();
  return token as Extract<FeedToken, { k: K }>;
}

const positive = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) > 0;

const refused = (): Error => problem('invalid_cursor', 'cursor is not a page token of this list', { at: 'query.cursor' });
