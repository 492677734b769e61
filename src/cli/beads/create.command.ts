import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, keyHeader, printJson, withExamples, withKey } from '../command.js';
import { sentAs } from '../errors.js';
import type { Io } from '../io.js';
import { defined } from '../values.js';
import { contentOf, deferral, withContent, type WriteFlags } from './content.js';

interface CreateFlags extends WriteFlags {
  readonly label?: readonly string[];
  readonly rig?: string;
  readonly blockedBy?: readonly string[];
  readonly idempotencyKey?: string;
}

export function addCreate(bead: Command, io: Io): void {
  const create = withContent(cityCommand(bead, 'create', 'make a bead and print its id').argument('<title>', 'what it is about, one line'))
    .option('--label <label>', 'label it; repeatable', collect)
    .option('--rig <rig>', "the rig that it belongs to (default: the city's own)")
    .option('--blocked-by <id>', 'not ready before this bead is closed; repeatable', collect)
    .option('--json', 'print the bead as one JSON line');
  withKey(create);
  withExamples(
    create,
    'svc bead create "Fix the login page" --type bug --priority 1 --label web',
    'git log -5 | svc bead create "Write the release notes" --description-file -',
    'svc bead create "Deploy" --blocked-by al-12 --blocked-by al-13 --assignee worker',
    'id=$(svc bead create "Later" --defer 2h)',
  );
  create.action(async (title: string, _options, action: Command) => {
    const context = await cityContextOf<CreateFlags>(action, io);
    const { api, city, flags } = context;
    const needs = flags.blockedBy;
    const until = typeof flags.defer === 'string' ? deferral(flags.defer, flags.idempotencyKey !== undefined) : undefined;
    const body = {
      title,
      ...(await contentOf(context)),
      ...defined({
        parent: flags.parent === false ? undefined : flags.parent,
        labels: flags.label === undefined ? undefined : [...flags.label],
        rig: flags.rig,
        needs: needs === undefined ? undefined : [...new Set(needs)],
        defer_until: until,
      }),
    };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/beads', { params, body, signal })).catch(
      sentAs(until === undefined ? undefined : `--defer ${until}`),
    );
    return flags.json === true ? printJson(io, data) : io.out(`${data.id}\n`);
  });
}
