import type { Command } from 'commander';
import type { Schemas } from '../api.js';
import { Progress } from '../cities/progress.js';
import { printJson, withKey, type CityContext } from '../command.js';
import { awaitEnding, tellEnding, timeoutOf } from '../ending.js';
import { CliError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { answerTo, cutOff, tellAnswer } from './answer.js';
import { tellStarts } from './starts.js';
import { tellQuestions } from './questions.js';

export interface WaitFlags {
  /** True: until the turn has ended; false: not at all; else until the request has. */
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

export function withWaiting(command: Command, what: string): Command {
  return withKey(
    command
      .option('--wait', 'wait until the turn of the message has ended, and print the answer')
      .option('--no-wait', `return as soon as the supervisor has accepted the request (default: wait until ${what})`)
      .option('--timeout <duration>', 'stop waiting after this time; the session goes on')
      .option('--json', 'print one JSON line: the answer with --wait, the accepted request with --no-wait, else the terminal event'),
  );
}

export interface SessionRun {
  readonly operation: string;
  /** `sending to al-7`. */
  readonly title: string;
  /** Begins the operation. The position is one of the transcript before it. */
  readonly begin: () => Promise<{ readonly accepted: Schemas['AsyncAcceptedBody']; readonly session: string; readonly position: string }>;
  readonly success: (payload: unknown) => string;
}

/** Begins an operation of a session and waits as long as the flags say. @throws CliError when it failed */
export async function runOnSession(context: CityContext<WaitFlags>, run: SessionRun): Promise<void> {
  const { api, city, flags, io } = context;
  const timeoutMs = timeoutOf(flags);
  const deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs;
  const { accepted, session, position } = await run.begin();
  if (flags.wait === false) {
    if (flags.json === true) await printJson(io, accepted);
    else await io.out(`accepted: ${accepted.request_id}${accepted.session_id === undefined ? '' : `, session ${accepted.session_id}`}\n`);
    return;
  }
  const progress = new Progress(io, run.title, flags.json === true || (flags.wait === true && !io.interactive));
  const over = new AbortController();
  const telling = session === '' ? undefined : tellQuestions(api, { city, session, progress }, AbortSignal.any([api.signal, over.signal]));
  try {
    const steps = tellStarts(accepted.session_id, progress);
    const ending = await awaitEnding(api, { accepted, operation: run.operation, city, timeoutMs, progress, ...steps });
    if (flags.wait !== true || !ending.ok) {
      progress.end();
      return await tellEnding(io, flags, ending, run.success);
    }
    progress.enter('waiting for the answer');
    const left = deadline === undefined ? undefined : Math.max(1, deadline - Date.now());
    const { answer, isWhole } = await answerTo(context, { session, requestId: accepted.request_id, position, timeoutMs: left });
    progress.end();
    await tellAnswer(io, flags, answer);
    if (!isWhole) throw new CliError(cutOff(answer.stop_reason), api.signal.aborted ? EXIT.interrupted : EXIT.failed);
  } finally {
    over.abort();
    progress.end();
    await telling;
  }
}

/** What is said: the words typed, or all of stdin for `-` and for nothing. @throws CliError when it is empty */
export async function messageOf(typed: string | undefined, input: () => Promise<string>): Promise<string> {
  const text = typed === undefined || typed === '-' ? (await input()).replace(/\r?\n$/, '') : typed;
  if (text.trim() === '') throw new CliError('the message is empty');
  return text;
}
