import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, keyHeader, withExamples } from '../command.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { defined, pairsOf } from '../values.js';
import { messageOf, runOnSession, withWaiting, type WaitFlags } from './operation.js';

interface Flags extends WaitFlags {
  readonly provider?: string;
  readonly alias?: string;
  readonly title?: string;
  readonly message?: string;
  readonly option?: readonly string[];
}

export function addCreate(session: Command, io: Io): void {
  const create = cityCommand(session, 'create', 'make a session of an agent or a provider, wait until it is ready and print its id')
    .argument('[agent]', 'the agent: `mayor`, `web/core.worker`')
    .option('--provider <name>', 'of a bare provider instead of an agent')
    .option('--alias <alias>', 'another name that it is found by')
    .option('--title <title>', 'what it is about (default: the first line of the message)')
    .option('--message <text>', 'what to say first; - reads stdin')
    .option('--option <key=value>', 'set this option of the provider; repeatable', collect);
  withWaiting(create, 'the session is ready, and the message delivered');
  withExamples(
    create,
    'svc session create mayor',
    'svc session create web/core.worker --alias login --message "Fix the login page."',
    'svc session create --provider claude --option model=opus --message - --wait < task.md',
  );
  create.action(async (agent: string | undefined, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const { provider, alias, title } = flags;
    const name = agent ?? provider;
    if (name === undefined || (agent !== undefined && provider !== undefined)) throw new CliError('give either an agent or --provider');
    if (flags.wait === true && flags.message === undefined)
      throw new CliError('--wait waits for the answer to a message: give one with --message');
    const options = pairsOf('--option', flags.option);
    const message = flags.message === undefined ? undefined : await messageOf(flags.message, () => io.input());
    const kind = agent === undefined ? 'provider' : 'agent';
    const body = { kind, name, ...defined({ alias, title, message, options }) };
    await runOnSession(context, {
      operation: 'session.create',
      title: `making a session of ${name}`,
      begin: async () => {
        const params = { path: { cityName: city }, header: keyHeader(flags) };
        const { data: accepted } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/sessions', { params, body, signal }));
        return { accepted, session: accepted.session_id ?? '', position: '0' };
      },
      success: (payload) => (payload as { session: { id: string } }).session.id,
    });
  });
}
