import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { defined } from '../values.js';
import { waitDetails, waitTable, type Wait } from './view.js';

interface Filters extends ListFlags {
  readonly state?: string;
  readonly session?: string;
  readonly all?: boolean;
}

const STATES = ['pending', 'ready', 'closed', 'failed', 'expired', 'canceled'] as const;

export function addReads(wait: Command, io: Io): void {
  const command = cityCommand(wait, 'list', 'list waits that go on, newest first')
    .addOption(new Option('--state <state>', 'only in this state').choices(STATES))
    .option('--session <name>', 'only of this session')
    .option('--all', 'finished ones too');
  withLimit(command);
  withExamples(command, 'svc wait list', 'svc wait list --session worker --all --json');
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<Filters>(action, io);
    const { api, city, flags } = context;
    const filters = defined({ state: flags.state, session: flags.session, all: flags.all });
    await list<Wait>(context, {
      plural: 'waits',
      empty: 'nobody waits',
      show: (waits) => waitTable(waits, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filters, ...page } };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/waits', { params, signal }));
        return { ...data, items: data.waits };
      },
    });
  });

  const show = cityCommand(wait, 'show', 'show a wait').argument('<id>', 'the wait').option('--json', 'print the wait as one JSON line');
  withExamples(show, 'svc wait show al-30');
  show.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<{ json?: boolean }>(action, io);
    const params = { path: { cityName: city, id } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/wait/{id}', { params, signal }));
    return flags.json === true ? printJson(io, data) : io.out(waitDetails(data));
  });
}
