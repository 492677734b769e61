import type { Command } from 'commander';
import { contextOf, flagsOf, printJson, type Context } from '../command.js';
import { warn } from '../edits.js';
import { tellEnding, timeoutOf } from '../ending.js';
import type { Io } from '../io.js';
import { awaitCityEnding, type Accepted } from './operation.js';
import { Progress } from './progress.js';

/** The flags of every command that begins an operation. */
export interface OperationFlags {
  readonly wait: boolean;
  readonly json?: boolean;
  readonly timeout?: string;
  readonly idempotencyKey?: string;
}

export function withOperation(command: Command): Command {
  return command
    .option('--no-wait', 'return as soon as the supervisor has accepted the request')
    .option('--timeout <duration>', 'stop waiting after this time; the operation goes on (default: wait for its end)')
    .option('--idempotency-key <key>', 'a repeated call with the same key begins nothing new')
    .option('--json', 'print one JSON line: the terminal event, or the accepted request with --no-wait');
}

export interface OperationRun {
  readonly operation: string;
  readonly city: string;
  /** `creating alpha`. */
  readonly title: string;
  /** What to say when it went well; `path` is the directory of the city. */
  readonly success: (path: string) => string;
  readonly begin: (context: Context, flags: OperationFlags) => Promise<Accepted>;
}

/** Begins an operation, waits for its terminal event and tells how it went. @throws CliError when it failed. */
export async function runOperation(command: Command, io: Io, run: OperationRun): Promise<void> {
  const flags = flagsOf<OperationFlags>(command);
  const timeoutMs = timeoutOf(flags);
  const context = contextOf(command, io);
  const accepted = await run.begin(context, flags);
  if (flags.json !== true) warn(io, accepted);
  if (!flags.wait) {
    if (flags.json === true) await printJson(io, accepted);
    else await io.out(`accepted: ${accepted.request_id}\n`);
    return;
  }
  const progress = new Progress(io, run.title, flags.json === true);
  const ending = await awaitCityEnding(context.api, accepted, { ...run, timeoutMs, progress }).finally(() => progress.end());
  await tellEnding(io, flags, ending, (payload) => run.success((payload as { path?: string }).path ?? ''));
}
