import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { showEach } from '../each.js';
import { CliError } from '../errors.js';
import { lastEvents } from '../events/last.js';
import type { Io } from '../io.js';
import { agentReasons } from '../why/why-agent.js';
import { because } from '../why/why-lines.js';
import { listAll, type AllFlags } from '../listing.js';
import { defined } from '../values.js';
import { addressOf } from './address.js';
import { agentDetails, agentTable, type Agent } from './view.js';

interface ListFlags extends AllFlags {
  readonly rig?: string;
  readonly pool?: string;
  readonly running?: boolean;
  readonly stopped?: boolean;
}

export function addReads(agent: Command, io: Io): void {
  const list = cityCommand(agent, 'list', 'list the agents of a city; a pool by its members')
    .option('--rig <rig>', 'only of this rig')
    .option('--pool <agent>', 'only the members of this pool')
    .option('--running', 'only those with a session')
    .option('--stopped', 'only those without one')
    .option('--json', 'print one JSON line for each');
  withExamples(list, 'svc agent list', 'svc agent list --rig web --running', 'svc agent list --pool core.worker --json');
  list.action(async (_options, action: Command) => {
    const context = await cityContextOf<ListFlags>(action, io);
    const { api, city, flags } = context;
    if (flags.running === true && flags.stopped === true) throw new CliError('--running and --stopped are mutually exclusive');
    const running = flags.running === true ? ('true' as const) : flags.stopped === true ? ('false' as const) : undefined;
    const query = defined({ rig: flags.rig, pool: flags.pool, running });
    await listAll<Agent>(context, {
      empty: 'no agents match; make one with `svc agent create`',
      show: (agents) => agentTable(agents, io),
      page: async (next) => {
        const params = { path: { cityName: city }, query: { ...query, ...next } };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/agents', { params, signal }));
        if (data.partial === true)
          io.err(`svc agent list: not all are listed${(data.partial_errors ?? []).map((error) => `; ${error}`).join('')}\n`);
        return data;
      },
    });
  });

  const show = cityCommand(agent, 'show', 'show agents')
    .argument('<name...>', 'the agents: `mayor`, `core.worker`, `web/core.worker`')
    .option('--json', 'print one JSON line for each');
  withExamples(show, 'svc agent show mayor', 'svc agent show web/core.worker --json');
  show.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api, city, flags } = context;
    let first = true;
    await showEach(context, names, async (name) => {
      const address = addressOf(name);
      const { data } = await ask(api, (signal) =>
        'dir' in address
          ? api.http.GET('/v0/city/{cityName}/agent/{dir}/{base}', { params: { path: { cityName: city, ...address } }, signal })
          : api.http.GET('/v0/city/{cityName}/agent/{base}', { params: { path: { cityName: city, ...address } }, signal }),
      );
      if (flags.json === true) await printJson(io, data);
      else {
        const [reasons, events] = await Promise.all([agentReasons(api, city, data), lastEvents(api, city, data.name)]);
        await io.out(`${first ? '' : '\n'}${agentDetails(data)}${because(reasons)}${events}`);
      }
      first = false;
    });
  });
}
