import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { showEach } from '../each.js';
import { nameOf } from '../edits.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { rigDetails, rigTable, type Rig } from './view.js';

interface Flags extends AllFlags {
  readonly git?: boolean;
}

const GIT = 'with the state of the repository';
const query = ({ git }: Flags): { git?: boolean } => (git === true ? { git } : {});

export function addReads(rig: Command, io: Io): void {
  const list = cityCommand(rig, 'list', 'list the rigs of a city').option('--git', GIT).option('--json', 'print one JSON line for each');
  withExamples(list, 'svc rig list', 'svc rig list --git --json');
  list.action(async (_options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    await listAll<Rig>(context, {
      empty: 'no rigs; add one with `svc rig create`',
      show: (rigs) => rigTable(rigs, io, flags.git === true),
      page: async (next) => {
        const params = { path: { cityName: city }, query: { ...query(flags), ...next } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/rigs', { params, signal }))).data;
      },
    });
  });

  const show = cityCommand(rig, 'show', 'show rigs')
    .argument('<name...>', 'the rigs')
    .option('--git', GIT)
    .option('--json', 'print one JSON line for each');
  withExamples(show, 'svc rig show web', 'svc rig show web --git');
  show.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    let first = true;
    await showEach(context, names, async (given) => {
      const params = { path: { cityName: city, name: nameOf('a rig', given) }, query: query(flags) };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/rig/{name}', { params, signal }));
      await (flags.json === true ? printJson(io, data) : io.out(`${first ? '' : '\n'}${rigDetails(data, flags.git === true)}`));
      first = false;
    });
  });
}
