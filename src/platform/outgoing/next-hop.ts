import type { IncomingHttpHeaders } from 'node:http';

/** What a proxy hands on of a message of HTTP, and what not (RFC 9110, section 7.6.1). For every proxy of ours. */

/** Meant for the next hop only. */
const HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  // Node throws when it is to send one beside a body of a known length, and no proxy here hands trailers on.
  'trailer',
  'upgrade',
  'http2-settings',
  // It has been answered already.
  'expect',
]);
/** Say where the body ends: nobody may have them taken away. */
const FRAMING = new Set(['transfer-encoding', 'content-length']);
const NONE: ReadonlySet<string> = new Set();

/** Tells of each name of these headers, in lower case, whether it is for the next hop only. */
export function forNextHop({ connection }: IncomingHttpHeaders): (name: string) => boolean {
  const named = namedBy(connection);
  return (name) => HOP.has(name) || named.has(name);
}

/** The headers that go on. */
export function handedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const stays = forNextHop(headers);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !stays(name)));
}

/**
 * Whether an answer with this status is one that can be handed on. Node's parser takes any three digits for a status and gives 0 to 99, and
 * a 101 that nobody has asked for, as an answer; Node throws when it is to send one below 100, and below 200 nothing is an answer.
 */
export const isAnswer = (status: number | undefined): status is number => status !== undefined && status >= 200;

/** What is said beside a status, as Node can say it again: its parser lets control characters through, and it throws when it is to send one. */
export const sayable = (reason: string | undefined): string => (/^[\t\x20-\x7e\x80-\xff]*$/.test(reason ?? '') ? (reason ?? '') : '');

function namedBy(connection: string | undefined): ReadonlySet<string> {
  // Nearly all that say anything.
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return NONE;
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => name !== '' && !FRAMING.has(name)));
}
