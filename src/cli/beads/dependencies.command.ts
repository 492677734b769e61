import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { each } from '../each.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { dependencyTable, type Dependency } from './view.js';
import { told } from './states.command.js';

const TYPES = ['blocks', 'waits-for', 'conditional-blocks', 'parent-child', 'related', 'discovered-from'] as const;

interface Flags extends ListFlags {
  readonly type: (typeof TYPES)[number];
  readonly direction: 'down' | 'up' | 'both';
}

export function addDependencies(bead: Command, io: Io): void {
  const dep = bead.command('dep').description('what a bead depends on');
  addAdd(dep, io);
  addRemove(dep, io);
  addList(dep, io);
}

function addAdd(dep: Command, io: Io): void {
  const add = cityCommand(dep, 'add', 'let a bead depend on others')
    .argument('<id>', 'the bead that waits')
    .argument('<depends-on...>', 'what it depends on')
    .addOption(new Option('--type <type>', 'how; the first three keep it from being ready').choices(TYPES).default('blocks'))
    .option('--json', 'print one JSON line for each edge');
  withExamples(add, 'svc bead dep add al-13 al-12', 'svc bead dep add al-13 al-7 --type related');
  add.action(async (id: string, on: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const params = { path: { cityName: city, id } };
    await each(context, on, async (depends_on_id) => {
      const body = { depends_on_id, type: flags.type };
      const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/bead/{id}/dependencies', { params, body, signal }));
      if (flags.json === true) await printJson(io, data);
      else await io.out(`${id} depends on ${depends_on_id} (${data.type})\n`);
    });
  });
}

function addRemove(dep: Command, io: Io): void {
  const remove = cityCommand(dep, 'remove', 'let a bead depend on others no longer')
    .argument('<id>', 'the bead that waits')
    .argument('<depends-on...>', 'what it no longer depends on')
    .option('--json', 'print one JSON line for each edge');
  withExamples(remove, 'svc bead dep remove al-13 al-12');
  remove.action(async (id: string, on: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city } = context;
    await each(context, on, async (dependsOnId) => {
      const params = { path: { cityName: city, id, dependsOnId } };
      const { data } = await ask(api, (signal) =>
        api.http.DELETE('/v0/city/{cityName}/bead/{id}/dependencies/{dependsOnId}', { params, signal }),
      );
      await told(context, id, { depends_on_id: dependsOnId, ...data }, `does not depend on ${dependsOnId}`);
    });
  });
}

function addList(dep: Command, io: Io): void {
  const command = cityCommand(dep, 'list', 'list what a bead depends on, or what depends on it')
    .argument('<id>', 'the bead')
    .addOption(
      new Option('--direction <direction>', 'down: what it depends on; up: what depends on it')
        .choices(['down', 'up', 'both'])
        .default('down'),
    );
  withLimit(command);
  withExamples(command, 'svc bead dep list al-13', 'svc bead dep list al-12 --direction up --json');
  command.action(async (id: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const { direction } = flags;
    await list<Dependency>(context, {
      plural: 'dependencies',
      empty: direction === 'down' ? `${id} depends on nothing; --direction up shows what depends on it` : `${id} has no such dependencies`,
      show: (items) => dependencyTable(id, items, io),
      page: async (page) => {
        const params = { path: { cityName: city, id }, query: { direction, ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/bead/{id}/dependencies', { params, signal }))).data;
      },
    });
  });
}
