import { sleep, timeLimit } from '../client/sleep.js';
import type { Accepted } from '../client/waiting.js';
import { told as tell, type Api, type Schemas } from './api.js';
import { CliError, InterruptedError, TimedOutError } from './errors.js';
import type { Progress } from './cities/progress.js';
import { printJson } from './command.js';
import type { Envelope } from './events/filter.js';
import { durationOf } from './events/options.js';
import type { Io } from './io.js';
import { pausesTold } from './pauses.js';
import { plain } from './table.js';
import { defined } from './values.js';
import { NO_WORKER, workerAlive } from './why/no-worker.js';

/** How an accepted request ended. */
export type Ending =
  | { readonly ok: true; readonly envelope: Envelope }
  | { readonly ok: false; readonly envelope: Envelope; readonly failure: Schemas['RequestFailedPayload'] };

export interface Waiting {
  readonly accepted: Accepted;
  readonly operation: string;
  /** Whose log the terminal event comes to; the supervisor's without one. */
  readonly city?: string;
  readonly timeoutMs: number | undefined;
  readonly progress: Progress;
  /** Events that tell of progress: those of `subject`, without it those of the request. */
  readonly steps?: { readonly types: readonly string[]; readonly subject?: string; readonly seen: (envelope: Envelope) => void };
  /** What goes on until the end; never fails. */
  readonly beside?: (signal: AbortSignal) => Promise<void>;
  /** When it is first looked for a worker that could do it, in milliseconds. */
  readonly lookMs?: number;
}

/** Most requests end before the first look. A worker that dies while one waits is found missing at a later one. */
const FIRST_LOOK_MS = 5_000;
const MOST_MS = 60_000;
/** After a stall of the database all leases look as if they were over, until each worker has renewed its own. */
const AGAIN_MS = 3_000;

/**
 * Tells once that no worker that runs agents is alive: a session then waits for one, and may wait for hours. Stops where the key may not ask. Never
 * fails: when the server does not answer, the stream says so.
 */
async function tellNoWorker(api: Api, progress: Progress, firstMs: number, signal: AbortSignal): Promise<void> {
  const alive = (): Promise<boolean | undefined> => workerAlive({ ...api, signal }).catch(() => true);
  for (let pause = firstMs; ; pause = Math.min(pause * 2, MOST_MS)) {
    await sleep(pause, signal);
    if (signal.aborted) return;
    let found = await alive();
    if (found === false) {
      await sleep(Math.min(AGAIN_MS, firstMs), signal);
      found = signal.aborted ? undefined : await alive();
    }
    if (signal.aborted || found === undefined) return;
    if (!found) return progress.tell(`${NO_WORKER.what}; it waits for ${NO_WORKER.ends.join('; ')}`);
  }
}

/** Waits for the one terminal event of a request. @throws CliError at the time-out, InterruptedError at Ctrl-C */
export async function awaitEnding(api: Api, waiting: Waiting): Promise<Ending> {
  const { accepted, operation, city, timeoutMs, progress, steps } = waiting;
  const { request_id: requestId } = accepted;
  const done = new AbortController();
  const limit = timeoutMs === undefined ? [] : [timeLimit(timeoutMs)];
  const signal = AbortSignal.any([api.signal, done.signal, ...limit]);
  // All else is done by workers of any kind, also by those that run no agents.
  const looks = operation.startsWith('session.');
  const beside = Promise.all([waiting.beside?.(signal), looks && tellNoWorker(api, progress, waiting.lookMs ?? FIRST_LOOK_MS, signal)]);
  const pauses = pausesTold((text) => progress.note(text));
  const seen = (event: unknown): void => {
    const envelope = event as Envelope;
    const own = steps!.subject === undefined ? requestOf(envelope) === requestId : envelope.subject === steps!.subject;
    if (own) steps!.seen(envelope);
  };
  const told = steps === undefined ? {} : { steps: { types: steps.types, seen } };
  try {
    const outcome = await api.client.waitFor(accepted, { ...defined({ city }), operation, signal, ...pauses, ...told });
    const envelope = outcome.event as Envelope;
    return outcome.ok ? { ok: true, envelope } : { ok: false, envelope, failure: outcome.failure };
  } catch (error) {
    if (!signal.aborted) throw tell(api, error);
    if (api.signal.aborted) throw new InterruptedError(`interrupted; the supervisor goes on with request ${requestId}`);
    const phase = progress.phase === undefined ? '' : `, last phase ${progress.phase}`;
    throw new TimedOutError(`no end within the time-out${phase}; the supervisor goes on with request ${requestId}`);
  } finally {
    done.abort();
    await beside;
  }
}

const requestOf = ({ payload }: Envelope): unknown => (payload as { request_id?: unknown } | null)?.request_id;

/** `--timeout` in milliseconds. @throws CliError */
export function timeoutOf({ timeout }: { readonly timeout?: string }): number | undefined {
  if (timeout === undefined) return undefined;
  const ms = durationOf('--timeout', timeout);
  if (ms <= 0) throw new CliError('--timeout: must be above zero');
  return ms;
}

/** Of what waits only where `--wait` says so. */
export const TIMEOUT = ['--timeout <duration>', 'with --wait: stop waiting after this time, and exit 124; it goes on'] as const;

/** `--timeout` of it in milliseconds. @throws CliError */
export function waitingOf(flags: { readonly wait?: boolean; readonly timeout?: string }): number | undefined {
  const ms = timeoutOf(flags);
  if (ms !== undefined && flags.wait !== true) throw new CliError('--timeout belongs to --wait');
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
