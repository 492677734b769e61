import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { beadTable, stateOf, type Bead } from '../beads/view.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { age, moment } from '../duration.js';
import { CliError } from '../errors.js';
import { lastEvents } from '../events/last.js';
import { whyBead } from '../why/why-bead.js';
import { because } from '../why/why-lines.js';
import type { Io } from '../io.js';
import { list, nothing, withLimit, type ListFlags } from '../listing.js';
import { block, facts, table } from '../table.js';
import { defined } from '../values.js';

interface Filters extends ListFlags {
  readonly all?: boolean;
  readonly rig?: string;
  readonly owned?: boolean;
  readonly stranded?: boolean;
}

export function addReads(convoy: Command, io: Io): void {
  addList(convoy, io);
  addShow(convoy, io);
  addCheck(convoy, io);
}

function addList(convoy: Command, io: Io): void {
  const command = cityCommand(convoy, 'list', 'list open convoys, newest first')
    .option('--all', 'closed ones too')
    .option('--rig <rig>', 'only of this rig')
    .option('--owned', 'only those that their owner lands')
    .option('--stranded', 'only those with open members that nobody has');
  withLimit(command);
  withExamples(command, 'svc convoy list', 'svc convoy list --stranded', 'svc convoy list --all --json');
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<Filters>(action, io);
    const { api, city, flags } = context;
    const filters = defined({ all: flags.all, rig: flags.rig, owned: flags.owned, stranded: flags.stranded });
    await list<Bead>(context, {
      plural: 'convoys',
      empty: nothing('convoys', 'svc convoy create "title" <bead>…', flags.all === true ? undefined : '--all'),
      show: (convoys) => convoyTable(convoys, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filters, ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/convoys', { params, signal }))).data;
      },
    });
  });
}

function convoyTable(convoys: readonly Bead[], io: Io): string {
  const rows = convoys.map((c) => [
    c.id,
    c.status,
    (c.labels ?? []).includes('owned') ? 'owned' : '',
    c.rig ?? '',
    age(c.created_at),
    c.title,
  ]);
  return table(['ID', 'STATUS', 'LANDING', 'RIG', 'AGE', 'TITLE'], rows, io);
}

function addShow(convoy: Command, io: Io): void {
  const show = cityCommand(convoy, 'show', 'show a convoy, how far it is and its members')
    .argument('<id>', 'the convoy')
    .option('--json', 'print the answer as one JSON line');
  withExamples(show, 'svc convoy show al-20');
  show.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<{ json?: boolean }>(action, io);
    const params = { path: { cityName: city, id } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/convoy/{id}', { params, signal }));
    if (flags.json === true) return printJson(io, data);
    const { convoy: bead, children, progress } = data;
    if (bead === undefined || progress === undefined) throw new CliError(`${id} is not a convoy`);
    const [why, events] = await Promise.all([whyBead(api, city, bead), lastEvents(api, city, bead.id)]);
    const reasons = bead.status === 'closed' ? '' : because(why.reasons);
    return io.out(`${details(bead, children ?? [], progress, io)}${reasons}${events}`);
  });
}

function details(convoy: Bead, members: readonly Bead[], progress: Schemas['ConvoyProgress'], io: Io): string {
  const settings = convoy.metadata ?? {};
  const head = facts([
    ['id', convoy.id],
    ['title', convoy.title],
    ['status', stateOf(convoy)],
    ['progress', `${progress.closed} of ${progress.total} closed`],
    ['landing', (convoy.labels ?? []).includes('owned') ? 'by its owner: `svc convoy land`' : undefined],
    ['owner', settings['convoy.owner']],
    ['notify', settings['convoy.notify']],
    ['merge', settings['convoy.merge']],
    ['target', settings.target],
    ['close reason', settings.close_reason],
    ['rig', convoy.rig],
    ['created', moment(convoy.created_at)],
    ['closed', convoy.closed_at === undefined ? undefined : moment(convoy.closed_at)],
  ]);
  const about = convoy.description === undefined || convoy.description === '' ? '' : `\n${block(convoy.description)}`;
  return `${head}${about}${members.length === 0 ? '' : `\n${beadTable(members, io)}`}`;
}

function addCheck(convoy: Command, io: Io): void {
  const check = cityCommand(convoy, 'check', 'tell how many members are closed; changes nothing')
    .argument('<id>', 'the convoy')
    .option('--json', 'print the answer as one JSON line');
  withExamples(check, 'svc convoy check al-20', 'svc convoy check al-20 --json | jq -e .complete');
  check.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<{ json?: boolean }>(action, io);
    const params = { path: { cityName: city, id } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/convoy/{id}/check', { params, signal }));
    if (flags.json === true) return printJson(io, data);
    return io.out(`${data.closed} of ${data.total} closed${data.complete ? ', complete' : ''}\n`);
  });
}
