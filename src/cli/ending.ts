import { CliError, InterruptedError } from './errors.js';
import type { Api, Schemas } from './api.js';
import type { Progress } from './cities/progress.js';
import { printJson } from './command.js';
import type { Feed } from './events/feed.js';
import type { Envelope } from './events/filter.js';
import { durationOf } from './events/options.js';
import { decode } from './events/stream.js';
import { followFrames, type OpenStream } from './follow.js';
import type { Io } from './io.js';
import { plain } from './table.js';

/** How an accepted request ended. */
export type Ending =
  | { readonly ok: true; readonly envelope: Envelope }
  | { readonly ok: false; readonly envelope: Envelope; readonly failure: Schemas['RequestFailedPayload'] };

export interface Waiting {
  readonly requestId: string;
  readonly operation: string;
  /** The log that the terminal event comes to, and where to begin there. */
  readonly feed: Feed;
  readonly after: string;
  readonly timeoutMs: number | undefined;
  readonly progress: Progress;
  /** Events that tell of progress: those of `subject`, without it those of the request. */
  readonly steps?: { readonly types: readonly string[]; readonly subject?: string; readonly seen: (envelope: Envelope) => void };
  /** What goes on until the end; never fails. */
  readonly beside?: (signal: AbortSignal) => Promise<void>;
}

/** Waits for the one terminal event of a request. @throws CliError at the time-out, InterruptedError at Ctrl-C */
export async function awaitEnding(api: Api, waiting: Waiting): Promise<Ending> {
  const { requestId, timeoutMs, progress } = waiting;
  const done = new AbortController();
  const limit = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const signal = AbortSignal.any([api.signal, done.signal, ...limit]);
  const beside = waiting.beside?.(signal);
  try {
    const ending = await terminalEvent(waiting, signal);
    if (ending !== undefined) return ending;
    if (api.signal.aborted) throw new InterruptedError(`interrupted; the supervisor goes on with request ${requestId}`);
    const phase = progress.phase === undefined ? '' : `, last phase ${progress.phase}`;
    throw new CliError(`no end within the time-out${phase}; the supervisor goes on with request ${requestId}`);
  } finally {
    done.abort();
    await beside;
  }
}

async function terminalEvent(waiting: Waiting, signal: AbortSignal): Promise<Ending | undefined> {
  const { feed, after, progress, requestId, steps } = waiting;
  const success = `request.result.${waiting.operation}`;
  const types = [success, 'request.failed', ...(steps?.types ?? [])];
  const open = (lastEventId: string | undefined): ReturnType<OpenStream> =>
    feed.open(lastEventId === undefined ? { after } : { lastEventId }, types, signal);
  const onPause = (ms: number, why: string): void => progress.note(`${why}; trying again in ${Math.ceil(ms / 1_000)} s`);
  for await (const frame of followFrames(open, { signal, onPause, again: true })) {
    if (frame.event !== feed.frame) continue;
    const envelope = decode(frame.data);
    const payload = envelope?.payload as Partial<Schemas['RequestFailedPayload']> | undefined;
    if (envelope === undefined) continue;
    const isStep = steps?.types.includes(envelope.type) === true;
    if (isStep && steps.subject !== undefined && envelope.subject === steps.subject) steps.seen(envelope);
    if (payload?.request_id !== requestId) continue;
    if (envelope.type === success) return { ok: true, envelope };
    if (envelope.type === 'request.failed') return { ok: false, envelope, failure: payload as Schemas['RequestFailedPayload'] };
    if (isStep) steps.seen(envelope);
  }
  return undefined;
}

/** `--timeout` in milliseconds. @throws CliError */
export function timeoutOf({ timeout }: { readonly timeout?: string }): number | undefined {
  if (timeout === undefined) return undefined;
  const ms = durationOf('--timeout', timeout);
  if (ms <= 0) throw new CliError('--timeout: must be above zero');
  return ms;
}

/** Tells how it went: the terminal event with `--json`, else a line about its payload. @throws CliError when it failed */
export async function tellEnding(
  io: Io,
  flags: { readonly json?: boolean },
  ending: Ending,
  success: (payload: unknown) => string,
): Promise<void> {
  if (flags.json === true) await printJson(io, ending.envelope);
  if (!ending.ok) throw new CliError(plain(`${ending.failure.error_code}: ${ending.failure.error_message}`));
  if (flags.json !== true) await io.out(`${plain(success(ending.envelope.payload))}\n`);
}
