import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, withExamples } from '../command.js';
import { each } from '../each.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { defined } from '../values.js';
import { contentOf, deferral, withContent, type WriteFlags } from './content.js';
import { matchHeader, told, withIfMatch } from './states.command.js';

interface UpdateFlags extends WriteFlags {
  readonly title?: string;
  readonly status?: 'open' | 'in_progress' | 'closed';
  readonly addLabel?: readonly string[];
  readonly removeLabel?: readonly string[];
  readonly ifMatch?: string;
}

export function addUpdate(bead: Command, io: Io): void {
  const update = withContent(cityCommand(bead, 'update', 'change beads; what is not named stays').argument('<id...>', 'the beads'))
    .option('--title <title>', 'a new title')
    .addOption(new Option('--status <status>', 'a new status').choices(['open', 'in_progress', 'closed']))
    .option('--no-parent', 'take it away from its parent')
    .option('--no-defer', 'ready as soon as nothing else stands against it')
    .option('--add-label <label>', 'add this label; repeatable', collect)
    .option('--remove-label <label>', 'take this label away; repeatable', collect)
    .option('--json', 'print one JSON line for each');
  withIfMatch(update);
  withExamples(
    update,
    'svc bead update al-12 --priority 0 --add-label urgent',
    'svc bead update al-12 al-13 --parent al-9',
    'svc bead update al-12 --metadata owner=web --metadata old= --if-match 4',
  );
  update.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<UpdateFlags>(action, io);
    const { api, city, flags } = context;
    const body = {
      ...(await contentOf(context)),
      ...defined({
        title: flags.title,
        status: flags.status,
        parent: flags.parent === false ? null : flags.parent,
        defer_until: flags.defer === undefined ? undefined : flags.defer === false ? null : deferral(flags.defer),
        labels: flags.addLabel === undefined ? undefined : [...flags.addLabel],
        remove_labels: flags.removeLabel === undefined ? undefined : [...flags.removeLabel],
      }),
    };
    if (Object.keys(body).length === 0) throw new CliError('nothing to change: name at least one option');
    const header = matchHeader(flags, ids);
    await each(context, ids, async (id) => {
      const params = { path: { cityName: city, id }, header };
      const { data } = await ask(api, (signal) => api.http.PATCH('/v0/city/{cityName}/bead/{id}', { params, body, signal }));
      await told(context, id, data, 'is updated');
    });
  });
}
