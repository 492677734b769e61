import { showDuration } from '../duration.js';
import { objectOf, readFrames } from '../../client/frames.js';
import { ConnectionError } from '../../client/problems.js';
import { timeLimit } from '../../client/sleep.js';
import { telling, type Api } from '../api.js';
import { CliError, InterruptedError, TimedOutError } from '../errors.js';
import type { Io } from '../io.js';
import { pausesOf } from '../pauses.js';
import { defined } from '../values.js';
import type { Feed } from './feed.js';
import { matches, type Envelope } from './filter.js';
import { eventLine } from './line.js';
import { listEvents, matching, pages, write } from './list.js';
import type { EventsRequest } from './options.js';

/**
 * Prints what matches until Ctrl-C, over as many connections as it takes. With a time and no position it begins with what the log has of
 * that time.
 */
export async function followEvents(feed: Feed, request: EventsRequest, api: Api, io: Io, pauseMs?: number): Promise<void> {
  let { after } = request;
  let listed: ReadonlyMap<string, number> = new Map();
  if (after === undefined && request.since !== undefined) {
    after = await feed.head();
    listed = await listEvents(feed, request, io);
  }
  const pauses = pausesOf(io, 'svc events');
  const events = feed.follow({ ...defined({ after, types: typesOf(request), pauseMs }), ...pauses, signal: io.signal, mustOpen: true });
  for await (const { event, text } of telling(api, events.withTexts())) {
    // What has come between the look for the head and the list is in both.
    const { stream = '', seq = Infinity } = event as Envelope;
    if (seq <= (listed.get(stream) ?? 0)) continue;
    const line = matchingLine(event as Envelope, text, request, io);
    if (line !== undefined) await io.out(line);
  }
  throw new InterruptedError();
}

/**
 * Waits for the first match. Behind a position it first looks at what is already there and prints all of that that
 * matches. Running out of time while streaming is a success without output, unless that is to be a failure; it is told.
 */
export async function watchEvents(feed: Feed, request: EventsRequest, io: Io): Promise<void> {
  const limit = timeLimit(request.timeoutMs);
  const signal = AbortSignal.any([io.signal, limit]);
  const after = await withinTime(signal, io, async () => {
    if (request.after === undefined) return feed.head();
    return (await printPresent(feed, request, io, signal)) ? undefined : request.after;
  });
  if (after === undefined) return;
  let opened = false;
  try {
    const body = await feed.open(after, typesOf(request), signal);
    opened = true;
    if (body === undefined) throw new CliError('the stream has ended for good');
    for await (const frame of readFrames(body, { signal })) {
      if (frame.event !== feed.frame) continue;
      const line = matchingLine(envelopeOf(objectOf(frame.data, feed.frame, frame.id), feed, frame.id), frame.data, request, io);
      if (line === undefined) continue;
      await io.out(line);
      return;
    }
  } catch (error) {
    if (io.signal.aborted) throw new InterruptedError();
    if (limit.aborted) return ranOut(request, io);
    if (!opened || !(error instanceof ConnectionError)) throw error;
    throw new CliError(`stream ended before a matching event arrived: ${error.message}`);
  }
  if (io.signal.aborted) throw new InterruptedError();
  if (!limit.aborted) throw new CliError('stream ended before a matching event arrived');
  ranOut(request, io);
}

/** @throws CliError when no match is to be a failure */
function ranOut({ timeoutMs, failOnTimeout }: EventsRequest, io: Io): void {
  const what = `no matching event came within ${showDuration(timeoutMs)}`;
  if (failOnTimeout) throw new TimedOutError(what);
  io.err(`svc events: ${what}\n`);
}

async function printPresent(feed: Feed, request: EventsRequest, io: Io, signal: AbortSignal): Promise<boolean> {
  let found = false;
  for await (const page of pages(feed, request)) {
    if (signal.aborted) return found;
    const items = matching(page, request);
    found ||= items.length > 0;
    await write(items, io);
  }
  return found;
}

async function withinTime<T>(signal: AbortSignal, io: Io, work: () => Promise<T>): Promise<T> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(io.signal.aborted ? new InterruptedError() : new CliError('timed out before the stream began'));
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const typesOf = (request: EventsRequest): string[] | undefined => (request.filter.type === undefined ? undefined : [request.filter.type]);

/** The line of an event that matches. */
function matchingLine(envelope: Envelope, text: string, request: EventsRequest, io: Io): string | undefined {
  if (request.notBefore !== undefined && Date.parse(envelope.ts) < request.notBefore) return undefined;
  if (!matches(envelope, request.filter)) return undefined;
  if (io.readable === true) return eventLine(envelope, io);
  return `${text.includes('\n') ? JSON.stringify(envelope) : text}\n`;
}

/** @throws CliError when an event cannot be read */
function envelopeOf(event: unknown, feed: Feed, id?: string): Envelope {
  const { type, ts } = event as Record<string, unknown>;
  if (typeof type === 'string' && typeof ts === 'string') return event as Envelope;
  throw new CliError(`undecodable ${feed.frame} frame${id === undefined ? '' : ` at ${id}`}`);
}
