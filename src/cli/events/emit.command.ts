import type { Command } from 'commander';
import { ask, MUTATION } from '../api.js';
import { contextOf, flagsOf, printJson, withCity, withExamples, withTarget } from '../command.js';
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
    const flags = flagsOf<EmitFlags>(command);
    const payload = flags.payload === undefined ? undefined : payloadOf(flags.payload);
    const context = contextOf(command, io);
    const { city } = await context.scope();
    if (city === undefined) throw new CliError('which city? name it with --city or SVC_CITY');
    const actor = flags.actor ?? (io.env.SVC_AGENT || io.env.SVC_SESSION_ID || 'human');
    const body = {
      type,
      actor,
      ...(flags.subject === undefined ? {} : { subject: flags.subject }),
      ...(flags.message === undefined ? {} : { message: flags.message }),
      ...(payload === undefined ? {} : { payload }),
    };
    const header = flags.idempotencyKey === undefined ? MUTATION : { ...MUTATION, 'Idempotency-Key': flags.idempotencyKey };
    const { data } = await ask(context.api, (signal) =>
      context.api.http.POST('/v0/city/{cityName}/events', { params: { path: { cityName: city }, header }, body, signal }),
    );
    if (flags.json === true) await printJson(io, data);
  });
}

function payloadOf(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // told below
  }
  throw new CliError('--payload is not a JSON object; nothing was written');
}
