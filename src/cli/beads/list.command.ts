import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, withExamples } from '../command.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { firstOf, list, nothing, withLimit, type ListFlags } from '../listing.js';
import { defined, instantOf, numberOf } from '../values.js';
import { beadTable, type Bead } from './view.js';

interface Filters extends ListFlags {
  readonly status?: 'open' | 'in_progress' | 'closed';
  readonly type?: string;
  readonly label?: string;
  readonly assignee?: string;
  readonly rig?: string;
  readonly parent?: string;
  readonly metadata?: readonly string[];
  readonly text?: string;
  readonly priority?: string;
  readonly blocked?: boolean;
  readonly all?: boolean;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly updatedAfter?: string;
  readonly updatedBefore?: string;
  readonly sort?: 'created' | 'updated' | 'priority';
}

interface ReadyFilters extends ListFlags {
  readonly rig?: string;
  readonly assignee?: string;
  readonly unassigned?: boolean;
  readonly routedTo?: string;
  readonly label?: string;
}

export function addLists(bead: Command, io: Io): void {
  addList(bead, io);
  addReady(bead, io);
  addChildren(bead, io);
}

const SORTS = { created: 'created_at', updated: 'updated_at', priority: 'priority' } as const;
const MAKE = 'svc bead create "what is to be done"';

function addList(bead: Command, io: Io): void {
  const command = cityCommand(bead, 'list', 'list beads, newest first; closed ones only with --all or --status closed')
    .addOption(new Option('--status <status>', 'only this status').choices(['open', 'in_progress', 'closed']))
    .option('--type <type>', 'only this type, such as task, bug, feature, epic or convoy')
    .option('--label <label>', 'only with this label')
    .option('--assignee <who>', 'only what is assigned to this agent or session')
    .option('--rig <rig>', 'only of this rig')
    .option('--parent <id>', 'only children of this bead')
    .option('--metadata <key=value>', 'only with this metadata; a key alone asks for any value; repeatable', collect)
    .option('--text <text>', 'only with this text in the title or the description')
    .option('--priority <n>', 'only this priority (0 is the highest)')
    .option('--blocked', 'only what waits for another bead')
    .option('--no-blocked', 'only what waits for no other bead')
    .option('--all', 'closed beads too')
    .option('--created-after <time>', 'only made after 2026-03-01, an RFC 3339 time, or so long ago (2h, 7d)')
    .option('--created-before <time>', 'only made before then')
    .option('--updated-after <time>', 'only changed after then')
    .option('--updated-before <time>', 'only changed before then')
    .addOption(
      new Option('--sort <order>', 'by when they were made (default), by when they were changed, or the most urgent first').choices(
        Object.keys(SORTS),
      ),
    );
  withLimit(command);
  withExamples(
    command,
    'svc bead list',
    'svc bead list --label urgent --no-blocked',
    'svc bead list --status closed --updated-after 24h --json',
    'svc bead list --metadata gc.routed_to=worker --limit 0',
  );
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<Filters>(action, io);
    const { api, city, flags } = context;
    const back = (flag: string, text: string | undefined): string | undefined =>
      text === undefined ? undefined : instantOf(flag, text, false);
    const filters = defined({
      status: flags.status,
      type: flags.type,
      label: flags.label,
      assignee: flags.assignee,
      rig: flags.rig,
      parent: flags.parent,
      metadata: flags.metadata === undefined ? undefined : [...flags.metadata],
      text: flags.text,
      priority: flags.priority === undefined ? undefined : numberOf('--priority', flags.priority),
      blocked: flags.blocked,
      all: flags.all,
      created_after: back('--created-after', flags.createdAfter),
      created_before: back('--created-before', flags.createdBefore),
      updated_after: back('--updated-after', flags.updatedAfter),
      updated_before: back('--updated-before', flags.updatedBefore),
      sort: flags.sort === undefined ? undefined : SORTS[flags.sort],
      // A table shows neither descriptions nor metadata.
      view: flags.json === true ? undefined : ('summary' as const),
    });
    await list<Bead>(context, {
      plural: 'beads',
      empty: nothing('beads', MAKE, flags.all === true || flags.status !== undefined ? undefined : '--all'),
      show: (beads) => beadTable(beads, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filters, ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/beads', { params, signal }))).data;
      },
    });
  });
}

function addReady(bead: Command, io: Io): void {
  const command = cityCommand(bead, 'ready', 'list what can be worked on now, the most urgent first')
    .option('--rig <rig>', 'only of this rig')
    .option('--assignee <who>', 'only what is assigned to this agent or session')
    .option('--unassigned', 'only what nobody has')
    .option('--routed-to <target>', 'only what was slung to this agent or pool')
    .option('--label <label>', 'only with this label');
  withLimit(command);
  withExamples(command, 'svc bead ready', 'svc bead ready --unassigned --limit 5', 'svc bead ready --routed-to worker --json');
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<ReadyFilters>(action, io);
    const { api, city, flags } = context;
    if (flags.unassigned === true && flags.assignee !== undefined) throw new CliError('--unassigned and --assignee are mutually exclusive');
    const filters = defined({
      rig: flags.rig,
      assignee: flags.assignee,
      unassigned: flags.unassigned,
      routed_to: flags.routedTo,
      label: flags.label,
    });
    await list<Bead>(context, {
      plural: 'beads',
      empty: 'nothing is ready; `svc bead list` shows what is open',
      show: (beads) => beadTable(beads, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filters, ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/beads/ready', { params, signal }))).data;
      },
    });
  });
}

function addChildren(bead: Command, io: Io): void {
  const command = cityCommand(bead, 'children', 'list the open children of a bead').argument('<id>', 'the parent');
  withLimit(command);
  withExamples(command, 'svc bead children al-12');
  command.action(async (id: string, _options, action: Command) => {
    const context = await cityContextOf<ListFlags>(action, io);
    const { api, city } = context;
    const params = { path: { cityName: city, id } };
    await list<Bead>(context, {
      plural: 'children',
      empty: `${id} has no open children`,
      show: (beads) => beadTable(beads, io),
      pageSize: Infinity,
      page: async ({ limit }) => {
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/bead/{id}/deps', { params, signal }));
        return firstOf(data.children ?? [], limit);
      },
    });
  });
}
