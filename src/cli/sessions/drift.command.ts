import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { each } from '../each.js';
import { answered, nameOf, told } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { defined } from '../values.js';
import { acceptedLine, driftTable, manyAccepted } from './drift-view.js';

export function addDrift(session: Command, io: Io): void {
  addList(session, io);
  addAccept(session, io);
}

function addList(session: Command, io: Io): void {
  const command = cityCommand(session, 'drift', 'list sessions that run with an older configuration, and what comes of it').option(
    '--template <name>',
    'only of this agent or provider',
  );
  withLimit(command);
  withExamples(command, 'svc session drift', 'svc session drift --template mayor --json');
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<ListFlags & { template?: string }>(action, io);
    const { api, city, flags } = context;
    await list<Schemas['SessionDrift']>(context, {
      plural: 'sessions',
      empty: 'every session runs with what the configuration says',
      show: (sessions) => driftTable(sessions, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...defined({ template: flags.template }), ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/sessions/drift', { params, signal }))).data;
      },
    });
  });
}

function addAccept(session: Command, io: Io): void {
  const command = cityCommand(session, 'accept-drift', 'let sessions go on with an older configuration, until it changes again')
    .argument('[session...]', 'the sessions: ids, names or aliases')
    .option('--agent <name>', 'all sessions of this agent that have a process')
    .option('--json', 'print one JSON line for each');
  withExamples(command, 'svc session accept-drift al-7', 'svc session accept-drift --agent mayor');
  command.action(async (sessions: string[], _options, action: Command) => {
    const context = await cityContextOf<{ json?: boolean; agent?: string }>(action, io);
    const { api, city, flags } = context;
    if ((sessions.length === 0) === (flags.agent === undefined)) throw new CliError('give either sessions or --agent');
    if (flags.agent !== undefined) {
      const params = { path: { cityName: city } };
      const body = { agent: flags.agent };
      const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/sessions/accept-drift', { params, body, signal }));
      return answered(io, flags, data, manyAccepted(data));
    }
    await each(context, sessions, async (name) => {
      const params = { path: { cityName: city, id: nameOf('a session', name) } };
      const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/session/{id}/accept-drift', { params, signal }));
      await told(context, name, data, acceptedLine(data));
    });
  });
}
