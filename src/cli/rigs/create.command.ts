import type { Command } from 'commander';
import { ask, type Api, type Schemas } from '../api.js';
import { Progress } from '../cities/progress.js';
import { cityCommand, cityContextOf, keyHeader, printJson, withExamples, withKey, type CityContext } from '../command.js';
import { answered } from '../edits.js';
import { awaitEnding, tellEnding, timeoutOf, type Ending } from '../ending.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { defined } from '../values.js';
import { madeLine, stepOf } from './view.js';

interface Flags {
  readonly path?: string;
  readonly prefix?: string;
  readonly defaultBranch?: string;
  readonly gitUrl?: string;
  readonly requestId?: string;
  readonly wait: boolean;
  readonly timeout?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

export function addCreate(rig: Command, io: Io): void {
  const create = cityCommand(rig, 'create', 'add a rig: a directory, or the clone of a repository')
    .argument('<name>', 'what it is called')
    .option('--git-url <url>', 'clone this repository and wait until it is there')
    .option('--path <path>', 'where it is, relative to the city, or absolute where the operator allows it (default: rigs/<name>)')
    .option('--prefix <prefix>', 'begins the ids of its beads (default: made from the name)')
    .option('--default-branch <branch>', "the branch that work goes to (default: the repository's)")
    .option('--request-id <id>', 'identifies the request: the same one again goes on with it')
    .option('--no-wait', 'return as soon as the clone is accepted')
    .option('--timeout <duration>', 'stop waiting after this time; the clone goes on (default: wait for its end)')
    .option('--json', 'print one JSON line: the answer, or the terminal event of a clone');
  withKey(create);
  withExamples(
    create,
    'svc rig create docs --prefix dc',
    'svc rig create web --git-url https://git.example.org/web.git',
    'svc rig create web --git-url git@git.example.org:team/web.git --no-wait --json',
  );
  create.action(async (name: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const timeoutMs = timeoutOf(flags);
    if (flags.gitUrl === undefined && (!flags.wait || timeoutMs !== undefined))
      throw new CliError('only a clone is waited for: --no-wait and --timeout belong to --git-url');
    const body = {
      name,
      ...defined({
        git_url: flags.gitUrl,
        path: flags.path,
        prefix: flags.prefix,
        default_branch: flags.defaultBranch,
        request_id: flags.requestId,
      }),
    };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/rigs', { params, body, signal }));
    if (data.status !== 'accepted') {
      return answered(io, flags, data, madeLine(data.rig ?? name, data.status === 'exists' ? 'is there already' : 'is created', data));
    }
    if (!flags.wait) return flags.json === true ? printJson(io, data) : io.out(`accepted: ${data.request_id ?? ''}\n`);
    const ending = await untilThere(context, name, data, timeoutMs);
    await tellEnding(io, flags, ending, (payload) => madeLine(name, 'is created', payload as Schemas['RigCreateSucceededPayload']));
  });
}

/** Waits for the end of a clone and shows its steps. */
async function untilThere(
  { api, city, flags, io }: CityContext<Flags> & { readonly api: Api },
  name: string,
  accepted: Schemas['RigCreateResponseBody'],
  timeoutMs: number | undefined,
): Promise<Ending> {
  const progress = new Progress(io, `creating ${name}`, flags.json === true);
  return awaitEnding(api, {
    accepted: { request_id: accepted.request_id ?? '', event_cursor: accepted.event_cursor ?? '0' },
    operation: 'rig.create',
    city,
    timeoutMs,
    progress,
    steps: {
      types: ['rig.provision.progress'],
      seen: ({ payload }) => progress.enter(stepOf(payload as Schemas['RigProvisionProgressPayload'])),
    },
  }).finally(() => progress.end());
}
