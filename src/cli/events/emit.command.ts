import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityContextOf, flagsOf, keyHeader, withCity, withExamples, withTarget } from '../command.js';
import { answered } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';

interface EmitFlags {
  readonly subject?: string;
  readonly message?: string;
  readonly actor?: string;
  readonly payload?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

export function addEvent(program: Command, io: Io): void {
  const emit = program
    .command('event')
    .description('write to the event log')
    .command('emit')
    .argument('<type>', 'what happened, such as deploy.finished')
    .description('append one event to the log of a city')
    .option('--subject <text>', 'what the event is about')
    .option('--message <text>', 'one line for people')
    .option('--actor <name>', 'who caused it (SVC_AGENT, SVC_SESSION_ID; default human)')
    .option('--payload <json>', 'a JSON object')
    .option('--idempotency-key <key>', 'a repeated call with the same key appends nothing')
    .option('--json', 'print the answer as one JSON line');
  withCity(withTarget(emit));
  withExamples(
    emit,
    'svc event emit deploy.finished --city alpha --subject web --message "version 12 is out"',
    `svc event emit build.done --city alpha --payload '{"commit":"4f2a","ok":true}'`,
  );
  emit.action(async (type: string, _options, command: Command) => {
    const payload = payloadOf(flagsOf<EmitFlags>(command).payload);
    const { api, city, flags } = await cityContextOf<EmitFlags>(command, io);
    const actor = flags.actor ?? (io.env.SVC_AGENT || io.env.SVC_SESSION_ID || 'human');
    const body = {
      type,
      actor,
      ...(flags.subject === undefined ? {} : { subject: flags.subject }),
      ...(flags.message === undefined ? {} : { message: flags.message }),
      ...(payload === undefined ? {} : { payload }),
    };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/events', { params, body, signal }));
    await answered(io, flags, data, `${type} is recorded`);
  });
}

function payloadOf(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // told below
  }
  throw new CliError('--payload is not a JSON object; nothing was written');
}
