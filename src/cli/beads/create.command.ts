import type { Command } from 'commander';
import { ask, MUTATION } from '../api.js';
import { cityCommand, cityContextOf, collect, keyHeader, printJson, withExamples, withKey, type CityContext } from '../command.js';
import { CliError, InterruptedError } from '../errors.js';
import type { Io } from '../io.js';
import { defined } from '../values.js';
import { contentOf, deferral, withContent, type WriteFlags } from './content.js';
import { INDEFINITELY, type Bead } from './view.js';

interface CreateFlags extends WriteFlags {
  readonly label?: readonly string[];
  readonly rig?: string;
  readonly blockedBy?: readonly string[];
  readonly idempotencyKey?: string;
}

const BEAD = '/v0/city/{cityName}/bead/{id}';

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
    const blockers = [...new Set(flags.blockedBy)];
    const until = typeof flags.defer === 'string' ? deferral(flags.defer, flags.idempotencyKey !== undefined) : undefined;
    const body = {
      title,
      ...(await contentOf(context)),
      ...defined({
        parent: flags.parent === false ? undefined : flags.parent,
        labels: flags.label === undefined ? undefined : [...flags.label],
        rig: flags.rig,
        // Nobody can take it before it waits for its blockers.
        defer_until: blockers.length > 0 ? INDEFINITELY : until,
      }),
    };
    for (const id of blockers) await ask(api, (signal) => api.http.GET(BEAD, { params: { path: { cityName: city, id } }, signal }));
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/beads', { params, body, signal }));
    const made = blockers.length === 0 ? data : await block(context, data, blockers, until);
    return flags.json === true ? printJson(io, made) : io.out(`${made.id}\n`);
  });
}

/** Adds the edges to a bead that was made deferred, then lets it go. @throws CliError which names the bead */
async function block(
  { api, city }: CityContext<object>,
  bead: Bead,
  blockers: readonly string[],
  until: string | undefined,
): Promise<Bead> {
  const path = { cityName: city, id: bead.id };
  const params = { path, header: MUTATION };
  try {
    for (const depends_on_id of blockers) {
      const body = { depends_on_id, type: 'blocks' as const };
      await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/bead/{id}/dependencies', { params, body, signal }));
    }
    const body = { defer_until: until ?? null };
    await ask(api, (signal) => api.http.PATCH(BEAD, { params, body, signal }));
    return (await ask(api, (signal) => api.http.GET(BEAD, { params: { path }, signal }))).data;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const left = `bead ${bead.id} is made and stays deferred until you run \`svc bead update ${bead.id} --no-defer\``;
    if (error instanceof InterruptedError) throw new InterruptedError(`interrupted; ${left}`);
    throw new CliError(`${error.message}; ${left}`, error.exitCode, { cause: error });
  }
}
