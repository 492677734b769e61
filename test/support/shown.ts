import type { Reply } from './http.js';

/** What of an answer two callers may compare. */
export interface Shown {
  readonly status: number;
  readonly headers: object;
  readonly text: string;
}

/** The length is that of the text, which is compared without the names. Ages grow while one asks. */
const VOLATILE = ['date', 'x-svc-request-id', 'content-length', 'x-svc-cache-age-s'];
const AGES = /(?<="uptime_sec":)\d+|(?<="(?:time|until)":")[^"]+/g;

/** An answer without the request's id and without what the request itself named. */
export function shown(reply: Pick<Reply, 'status' | 'headers' | 'text'>, given: readonly string[]): Shown {
  const names = given.map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).sort((a, b) => b.length - a.length);
  // A name that is a number is within others.
  const named = new RegExp(`(?<!\\d)(?:${names.join('|')})(?!\\d)`, 'g');
  const blank = (text: string): string => {
    const anonymous = text.replace(/(?<=urn:supervisor:request:)[0-9a-f]+/, '<id>').replace(AGES, '<age>');
    return names.length === 0 ? anonymous : anonymous.replace(named, '<given>');
  };
  const headers = Object.fromEntries(
    [...reply.headers].filter(([name]) => !VOLATILE.includes(name)).map(([name, value]) => [name, blank(value)]),
  );
  return { status: reply.status, headers, text: blank(reply.text) };
}
