import { showDuration } from '../duration.js';
import { CliError, InterruptedError, UnreachableError } from '../errors.js';
import { followFrames, type FollowOptions, type OpenStream } from '../follow.js';
import type { Io } from '../io.js';
import { readFrames, type Frame } from '../sse.js';
import type { Feed } from './feed.js';
import { matches, type Envelope } from './filter.js';
import { matching, pages, write } from './list.js';
import type { EventsRequest } from './options.js';

/** Prints what matches until Ctrl-C, over as many connections as it takes. */
export async function followEvents(feed: Feed, request: EventsRequest, io: Io, pace: Pick<FollowOptions, 'baseMs'> = {}): Promise<void> {
  const after = request.after ?? (await feed.head());
  const types = typesOf(request);
  const open = (lastEventId: string | undefined): ReturnType<OpenStream> =>
    feed.open(lastEventId === undefined ? { after } : { lastEventId }, types, io.signal);
  /** How far each stream was printed: what comes again is not printed again. */
  const told = new Map<string, number>();
  for await (const frame of followFrames(open, { signal: io.signal, again: true, ...pace })) {
    const line = matchingLine(frame, feed, request);
    if (line === undefined) continue;
    const { stream = '', seq } = JSON.parse(frame.data) as { stream?: string; seq: number };
    if (seq <= (told.get(stream) ?? 0)) continue;
    told.set(stream, seq);
    await io.out(line);
  }
  throw new InterruptedError();
}

/**
 * Waits for the first match. Behind a position it first looks at what is already there and prints all of that that
 * matches. Running out of time while streaming is a success without output, unless that is to be a failure; it is told.
 */
export async function watchEvents(feed: Feed, request: EventsRequest, io: Io): Promise<void> {
  const limit = AbortSignal.timeout(request.timeoutMs);
  const signal = AbortSignal.any([io.signal, limit]);
  const after = await withinTime(signal, io, async () => {
    if (request.after === undefined) return feed.head();
    return (await printPresent(feed, request, io, signal)) ? undefined : request.after;
  });
  if (after === undefined) return;
  let opened = false;
  try {
    const body = await feed.open({ after }, typesOf(request), signal);
    opened = true;
    if (body === undefined) throw new CliError('the stream has ended for good');
    for await (const frame of readFrames(body, { signal })) {
      const line = matchingLine(frame, feed, request);
      if (line === undefined) continue;
      await io.out(line);
      return;
    }
  } catch (error) {
    if (io.signal.aborted) throw new InterruptedError();
    if (limit.aborted) return ranOut(request, io);
    if (!opened || !(error instanceof UnreachableError)) throw error;
    throw new CliError(`stream ended before a matching event arrived: ${error.message}`);
  }
  if (io.signal.aborted) throw new InterruptedError();
  if (!limit.aborted) throw new CliError('stream ended before a matching event arrived');
  ranOut(request, io);
}

/** As `timeout` of the shell. */
const TIMED_OUT = 124;

/** @throws CliError when no match is to be a failure */
function ranOut({ timeoutMs, failOnTimeout }: EventsRequest, io: Io): void {
  const what = `no matching event came within ${showDuration(timeoutMs)}`;
  if (failOnTimeout) throw new CliError(what, TIMED_OUT);
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

/** The line of a frame that carries a matching event. @throws CliError when an event frame cannot be read. */
function matchingLine(frame: Frame, feed: Feed, request: EventsRequest): string | undefined {
  if (frame.event !== feed.frame) return undefined;
  const envelope = decode(frame.data);
  if (envelope === undefined) throw new CliError(`undecodable ${feed.frame} frame${frame.id === undefined ? '' : ` at ${frame.id}`}`);
  if (request.notBefore !== undefined && Date.parse(envelope.ts) < request.notBefore) return undefined;
  if (!matches(envelope, request.filter)) return undefined;
  return `${frame.data.includes('\n') ? JSON.stringify(envelope) : frame.data}\n`;
}

/** The envelope in a frame's data; undefined when it is none. */
export function decode(data: string): Envelope | undefined {
  try {
    const value = JSON.parse(data) as unknown;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const { type, ts } = value as Record<string, unknown>;
    return typeof type === 'string' && typeof ts === 'string' ? (value as Envelope) : undefined;
  } catch {
    return undefined;
  }
}
