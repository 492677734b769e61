/** The one NOTIFY channel. Its payload is `name:head,name:head`, `*` when that would be too long, or `!nonce`. */
export const HINT_CHANNEL = 'ev';

/** What topics of `Signals` begin with, which no event stream's name does. */
export const TOPIC_MARK = '~';

export function isTopic(name: string): boolean {
  return name.startsWith(TOPIC_MARK);
}

/** Postgres refuses payloads of 8,000 bytes. */
const MAX_PAYLOAD = 7_900;

export type Hint =
  | { readonly kind: 'moved'; readonly heads: ReadonlyMap<string, number> }
  | { readonly kind: 'all' }
  | { readonly kind: 'nonce'; readonly nonce: string };

export function encodeHint(heads: ReadonlyMap<string, number>): string {
  let text = '';
  for (const [name, head] of heads) {
    text += `${text === '' ? '' : ','}${name}:${head}`;
    if (text.length > MAX_PAYLOAD) return '*';
  }
  return text;
}

/** Anything unreadable means "look everywhere": a hint must never be able to hide an event. */
export function decodeHint(payload: string): Hint {
  if (payload.startsWith('!')) return { kind: 'nonce', nonce: payload.slice(1) };
  const heads = new Map<string, number>();
  for (const part of payload.split(',')) {
    const at = part.lastIndexOf(':');
    const head = Number(part.slice(at + 1));
    if (at <= 0 || !Number.isSafeInteger(head)) return { kind: 'all' };
    heads.set(part.slice(0, at), head);
  }
  return { kind: 'moved', heads };
}
