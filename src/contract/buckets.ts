import { parseDuration } from './duration.js';
import { problem } from './problems.js';

/** A stretch of time in equal parts. Ages are milliseconds before now. */
export interface Buckets {
  readonly since: number;
  readonly until: number;
  readonly bucket: number;
}

interface BucketsQuery {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly bucket?: string | undefined;
}

export const MOST_BUCKETS = 1_000;
const SHORTEST_MS = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** What people read off a clock, of which a stretch has a hundred at the most. */
const USUAL = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY];
const USUAL_COUNT = 100;

/** What a query asks for: of the last day unless it says so. @throws ProblemError invalid_request */
export function bucketsOf({ since, until, bucket }: BucketsQuery): Buckets {
  const [from, to] = [age('since', since) ?? DAY, age('until', until) ?? 0];
  if (from <= to) throw problem('invalid_request', 'since must be longer ago than until', { at: 'query.since' });
  const length = age('bucket', bucket) ?? USUAL.find((ms) => (from - to) / ms <= USUAL_COUNT) ?? Math.ceil((from - to) / USUAL_COUNT);
  if (length < SHORTEST_MS || (from - to) / length > MOST_BUCKETS)
    throw problem('invalid_request', `bucket must be 1s at least, and since to until ${MOST_BUCKETS} buckets at most`, {
      at: 'query.bucket',
    });
  return { since: from, until: to, bucket: Math.round(length) };
}

function age(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const ms = parseDuration(text);
  if (ms === undefined || ms < 0)
    throw problem('invalid_request', `invalid ${name} duration: "${text.slice(0, 60)}"`, { at: `query.${name}` });
  return ms;
}
