import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { beadTable, stateOf, type Bead } from '../beads/view.js';
import { cityCommand, cityContextOf, collect, keyHeader, printJson, withExamples, withKey } from '../command.js';
import { age, moment } from '../duration.js';
import { ofFormula } from '../formulas/hints.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';
import { list, nothing, withLimit, type ListFlags } from '../listing.js';
import { block, facts, table } from '../table.js';
import { defined, pairsOf } from '../values.js';

interface CreateFlags {
  readonly var?: readonly string[];
  readonly target?: string;
  readonly rig?: string;
  readonly title?: string;
  readonly label?: readonly string[];
  readonly on?: string;
  readonly force?: boolean;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

interface Filters extends ListFlags {
  readonly all?: boolean;
  readonly rig?: string;
}

export function addMolecule(program: Command, io: Io): void {
  const molecule = program.command('molecule').description('formulas made into beads');
  addCreate(molecule, io);
  addList(molecule, io);
  addShow(molecule, io);
}

function addCreate(molecule: Command, io: Io): void {
  const create = cityCommand(molecule, 'create', 'make the beads of a formula; prints the id of its run')
    .argument('<formula>', 'the formula')
    .option('--var <name=value>', 'a value for a variable; repeatable', collect)
    .option('--on <bead>', 'the bead that it is for')
    .option('--target <target>', 'the agent or pool that its steps go to')
    .option('--rig <rig>', 'the rig whose formula it is')
    .option('--title <title>', 'title of the run')
    .option('--label <label>', 'label of its root; repeatable', collect)
    .option('--force', 'end what the bead is worked on by already')
    .option('--json', 'print the root as one JSON line');
  withKey(create);
  withExamples(create, 'svc molecule create mol-do-work --var issue=al-1', 'svc molecule create mol-do-work --on al-1');
  create.action(async (formula: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<CreateFlags>(action, io);
    const { target, rig, title, on, force, label } = flags;
    const body = {
      formula,
      ...defined({ target, rig, title, force, attached_bead_id: on, vars: pairsOf('--var', flags.var) }),
      ...(label === undefined ? {} : { labels: [...label] }),
    };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/molecules', { params, body, signal })).catch(
      ofFormula(formula),
    );
    return flags.json === true ? printJson(io, data) : io.out(`${data.id}\n`);
  });
}

function addList(molecule: Command, io: Io): void {
  const command = cityCommand(molecule, 'list', 'list open molecules, newest first')
    .option('--all', 'closed ones too')
    .option('--rig <rig>', 'only of this rig');
  withLimit(command);
  withExamples(command, 'svc molecule list', 'svc molecule list --all --json');
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<Filters>(action, io);
    const { api, city, flags } = context;
    const filters = defined({ all: flags.all, rig: flags.rig });
    await list<Bead>(context, {
      plural: 'molecules',
      empty: nothing('molecules', 'svc molecule create <formula>', flags.all === true ? undefined : '--all'),
      show: (items) =>
        table(
          ['ID', 'STATUS', 'RIG', 'AGE', 'TITLE'],
          items.map((each) => [each.id, each.status, each.rig ?? '', age(each.created_at), each.title]),
          io,
        ),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filters, ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/molecules', { params, signal }))).data;
      },
    });
  });
}

function addShow(molecule: Command, io: Io): void {
  const show = cityCommand(molecule, 'show', 'show a molecule, how far it is and its beads')
    .argument('<id>', 'its root')
    .option('--json', 'print the answer as one JSON line');
  withExamples(show, 'svc molecule show al-20');
  show.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<{ json?: boolean }>(action, io);
    const params = { path: { cityName: city, id } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/molecule/{id}', { params, signal })).catch(
      hinted(404, 'see `svc molecule list`'),
    );
    return flags.json === true ? printJson(io, data) : io.out(details(data, io));
  });
}

function details({ molecule, children, progress }: Schemas['MoleculeGetResponse'], io: Io): string {
  const head = facts([
    ['id', molecule.id],
    ['title', molecule.title],
    ['status', stateOf(molecule)],
    ['progress', `${progress.closed} of ${progress.total} closed`],
    ['formula', molecule.metadata?.['gc.formula_name']],
    ['close reason', molecule.metadata?.close_reason],
    ['rig', molecule.rig],
    ['created', moment(molecule.created_at)],
    ['closed', molecule.closed_at === undefined ? undefined : moment(molecule.closed_at)],
  ]);
  const about = molecule.description === undefined || molecule.description === '' ? '' : `\n${block(molecule.description)}`;
  return `${head}${about}${(children ?? []).length === 0 ? '' : `\n${beadTable(children ?? [], io)}`}`;
}
