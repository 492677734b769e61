import { parseDuration } from '../../contract/duration.js';
import { CliError } from '../errors.js';
import type { Scope } from '../scope.js';
import type { Filter } from './filter.js';
import { parsePayloadMatch, type PayloadMatch } from './payload-match.js';

/** The flags of `svc events` as they were typed. */
export interface EventsFlags {
  readonly type?: string;
  readonly since?: string;
  readonly watch?: boolean;
  readonly timeout: string;
  readonly failOnTimeout?: boolean;
  readonly follow?: boolean;
  readonly seq?: boolean;
  readonly after?: string;
  readonly afterCursor?: string;
  readonly payloadMatch?: readonly string[];
}

export type Mode = 'list' | 'watch' | 'follow' | 'seq';

export interface EventsRequest {
  readonly mode: Mode;
  readonly filter: Filter;
  /** As typed: the lists are filtered by the server, whose clock made the times. */
  readonly since: string | undefined;
  /** Milliseconds since the epoch: streams leave out what is earlier. */
  readonly notBefore: number | undefined;
  readonly after: string | undefined;
  readonly timeoutMs: number;
  readonly failOnTimeout: boolean;
}

/** Everything that can be refused without the network. @throws CliError */
export function readFlags(flags: EventsFlags, now: number): EventsRequest {
  const mode: Mode = flags.seq ? 'seq' : flags.follow ? 'follow' : flags.watch ? 'watch' : 'list';
  const after = flags.after ?? flags.afterCursor;
  if (flags.after !== undefined && flags.afterCursor !== undefined) throw new CliError('--after and --after-cursor are mutually exclusive');
  if (mode === 'seq' && after !== undefined) {
    throw new CliError(`--seq prints the head and takes no ${flags.after === undefined ? '--after-cursor' : '--after'}`);
  }
  if (flags.after !== undefined && !/^\d{1,19}$/.test(flags.after)) throw new CliError(`--after: not a sequence number: ${flags.after}`);
  if (flags.afterCursor?.trim() === '') throw new CliError('--after-cursor: the cursor is empty');
  const sinceMs = flags.since === undefined ? undefined : durationOf('--since', flags.since);
  const timeoutMs = durationOf('--timeout', flags.timeout);
  if (timeoutMs <= 0) throw new CliError(`--timeout: must be above zero: ${flags.timeout}`);
  return {
    mode,
    since: flags.since,
    notBefore: sinceMs === undefined ? undefined : now - sinceMs,
    after: after?.trim(),
    timeoutMs,
    failOnTimeout: flags.failOnTimeout === true,
    filter: {
      type: flags.type,
      payload: (flags.payloadMatch ?? []).map(matchOf),
    },
  };
}

/** A position belongs to one scope: numbers to a city, cursors to the supervisor. @throws CliError */
export function checkScope(flags: EventsFlags, scope: Scope): void {
  if (scope.city === undefined && flags.after !== undefined) {
    throw new CliError('--after is a position of one city: use --after-cursor for the supervisor, or name a city with --city');
  }
  if (scope.city !== undefined && flags.afterCursor !== undefined) {
    throw new CliError(`--after-cursor is a position of the supervisor: use --after for the city ${scope.city}, or --no-city`);
  }
}

export function durationOf(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new CliError(`${flag}: not a duration: ${text} (write it like 30s, 5m or 1h30m)`);
  return ms;
}

function matchOf(text: string): PayloadMatch {
  const match = parsePayloadMatch(text);
  if (match === undefined) throw new CliError(`--payload-match: expected <path>=<value>: ${text}`);
  return match;
}
