import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, keyHeader, printJson, withExamples, withKey } from '../command.js';
import { CliError, sentAs } from '../errors.js';
import type { Io } from '../io.js';
import { defined, durationText, instantOf, timeOf } from '../values.js';

interface Flags {
  readonly session?: string;
  readonly for?: readonly string[];
  readonly any?: boolean;
  readonly manual?: boolean;
  readonly note?: string;
  readonly title?: string;
  readonly timeout?: string;
  readonly expiresAt?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

export function addCreate(wait: Command, io: Io): void {
  const create = cityCommand(wait, 'create', 'park a session until beads are closed; prints the id of the wait')
    .option('--session <name>', 'the session that waits (SVC_SESSION_ID, SVC_AGENT)')
    .option('--for <bead>', 'what it waits for; repeatable', collect)
    .option('--any', 'ready with the first of them (default: with the last)')
    .option('--manual', 'ready only by `svc wait ready`')
    .option('--note <text>', 'what to tell the session when it is ready')
    .option('--title <title>', 'title of the wait')
    .option('--timeout <duration>', 'expires after this time')
    .option('--expires-at <time>', 'expires then')
    .option('--json', 'print the wait as one JSON line');
  withKey(create);
  withExamples(
    create,
    'svc wait create --session worker --for al-12 --for al-13 --note "both parts are done"',
    'svc wait create --session worker --manual --timeout 2h',
  );
  create.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const session = flags.session ?? (io.env.SVC_SESSION_ID || io.env.SVC_AGENT);
    if (session === undefined || session === '') throw new CliError('who waits? name the session with --session');
    if ((flags.for !== undefined) === (flags.manual === true)) throw new CliError('give either --for or --manual');
    if (flags.timeout !== undefined && flags.expiresAt !== undefined)
      throw new CliError('--timeout and --expires-at are mutually exclusive');
    const expires = flags.expiresAt;
    const until =
      expires === undefined
        ? undefined
        : flags.idempotencyKey === undefined
          ? instantOf('--expires-at', expires, true)
          : timeOf('--expires-at', expires);
    const body = {
      session,
      kind: flags.manual === true ? ('manual' as const) : ('deps' as const),
      dep_ids: [...(flags.for ?? [])],
      dep_mode: flags.any === true ? ('any' as const) : ('all' as const),
      ...defined({
        note: flags.note,
        title: flags.title,
        timeout: flags.timeout === undefined ? undefined : durationText('--timeout', flags.timeout),
        expires_at: until,
      }),
    };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/waits', { params, body, signal })).catch(
      sentAs(until === undefined ? undefined : `--expires-at ${until}`),
    );
    return flags.json === true ? printJson(io, data) : io.out(`${data.id}\n`);
  });
}
