import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { each } from '../each.js';
import { matchHeader, nameOf, requireChange, told, withIfMatch } from '../edits.js';
import type { Io } from '../io.js';
import { defined } from '../values.js';

interface Flags {
  readonly path?: string;
  readonly prefix?: string;
  readonly defaultBranch?: string;
  readonly suspended?: boolean;
  readonly cascade?: boolean;
  readonly ifMatch?: string;
  readonly json?: boolean;
}

const CONFIGURATION = 'the configuration';

export function addChanges(rig: Command, io: Io): void {
  const update = cityCommand(rig, 'update', 'change a rig in the files; what is not named stays')
    .argument('<name>', 'the rig')
    .option('--path <path>', 'where it is')
    .option('--prefix <prefix>', 'begins the ids of its next beads')
    .option('--default-branch <branch>', 'the branch that work goes to')
    .option('--suspended', 'suspended, unless somebody resumes it by hand')
    .option('--no-suspended', 'not suspended, unless somebody suspends it by hand')
    .option('--json', 'print the answer as one JSON line');
  withIfMatch(update, CONFIGURATION);
  withExamples(update, 'svc rig update web --default-branch develop', 'svc rig update web --suspended --if-match 7');
  update.action(async (given: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const body = defined({ path: flags.path, prefix: flags.prefix, default_branch: flags.defaultBranch, suspended: flags.suspended });
    requireChange(body);
    const name = nameOf('a rig', given);
    const params = { path: { cityName: city, name }, header: matchHeader(flags, [name]) };
    const { data } = await ask(api, (signal) => api.http.PATCH('/v0/city/{cityName}/rig/{name}', { params, body, signal }));
    await told(context, name, data, 'is updated');
  });

  const remove = cityCommand(rig, 'delete', 'take rigs out of the files; their directories and beads stay')
    .argument('<name...>', 'the rigs')
    .option('--cascade', 'also what else the files say about them, such as patches')
    .option('--json', 'print one JSON line for each');
  withIfMatch(remove, CONFIGURATION);
  withExamples(remove, 'svc rig delete web', 'svc rig delete web --cascade');
  remove.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const header = matchHeader(flags, names);
    const query = flags.cascade === true ? { cascade: true } : {};
    await each(context, names, async (name) => {
      const params = { path: { cityName: city, name: nameOf('a rig', name) }, query, header };
      const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/rig/{name}', { params, signal }));
      await told(context, name, data, 'is deleted; its directory stays');
    });
  });
}
