import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { stateOf } from '../beads/view.js';
import { cityCommand, cityContextOf, collect, printJson, withExamples } from '../command.js';
import { moment } from '../duration.js';
import { CliError } from '../errors.js';
import { whoOf } from '../identity.js';
import type { Io } from '../io.js';
import { firstOf, list, listAll, withLimit, type AllFlags, type ListFlags } from '../listing.js';
import { plain, table } from '../table.js';
import { defined, durationText } from '../values.js';

/** What the operation answers at most; it has no pages. */
const MAX_ITEMS = 1_000;

interface Flags extends ListFlags {
  readonly agent?: string;
  readonly session?: readonly string[];
}

interface ClaimFlags {
  readonly agent?: string;
  readonly session?: string;
  readonly alias?: readonly string[];
  readonly sessionName?: string;
  readonly lease?: string;
  readonly workBranch?: string;
  readonly json?: boolean;
}

export function addHook(program: Command, io: Io): void {
  const hook = program.command('hook').description('how an agent finds its next work');
  addShow(hook, io);
  addClaim(hook, io);
  addDemand(hook, io);
}

const withAgent = (command: Command): Command => command.option('--agent <name>', 'the agent (SVC_AGENT)');

function addShow(hook: Command, io: Io): void {
  const show = withAgent(cityCommand(hook, 'show', 'list what an agent would be given, in this order; claims nothing')).option(
    '--session <name>',
    'a session of the agent, or another name of it; repeatable (SVC_SESSION_ID)',
    collect,
  );
  withLimit(show);
  withExamples(show, 'svc hook show --agent worker');
  show.action(async (_options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const agent = whoOf('--agent', flags.agent, io);
    const session = flags.session ?? (io.env.SVC_SESSION_ID ? [io.env.SVC_SESSION_ID] : undefined);
    await list<Schemas['HookItem']>(context, {
      plural: 'beads',
      empty: `nothing is on the hook of ${agent}`,
      show: (items) => candidates(items, io),
      pageSize: Infinity,
      page: async ({ limit }) => {
        // One more than is shown tells whether there are more.
        const query = { agent, limit: Math.min(limit + 1, MAX_ITEMS), ...(session === undefined ? {} : { session: [...session] }) };
        const params = { path: { cityName: city }, query };
        const { items } = (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/hook', { params, signal }))).data;
        if (items.length === MAX_ITEMS && limit >= MAX_ITEMS) io.err(`svc hook show: the first ${MAX_ITEMS} beads; there may be more\n`);
        return { ...firstOf(items, limit), total_is_estimate: true };
      },
    });
  });
}

function candidates(items: readonly Schemas['HookItem'][], io: Io): string {
  const rows = items.map(({ bead, tier }) => [bead.id, tier, stateOf(bead), String(bead.priority ?? ''), bead.issue_type, bead.title]);
  return table(['ID', 'WHY', 'STATUS', 'P', 'TYPE', 'TITLE'], rows, io);
}

function addClaim(hook: Command, io: Io): void {
  const claim = withAgent(
    cityCommand(hook, 'claim', 'give an agent its next work and print the id of the bead; without work exits 1, with --json 0'),
  )
    .option('--session <id>', 'the session that works on it (SVC_SESSION_ID)')
    .option('--session-name <name>', 'name of that session')
    .option('--alias <name>', 'another name that work may be assigned to; repeatable', collect)
    .option('--lease <duration>', 'how long it is its own without a heartbeat (default 10m)')
    .option('--work-branch <branch>', 'the branch that the work goes to')
    .option('--json', 'print the answer as one JSON line');
  withExamples(claim, 'svc hook claim --agent worker', 'svc hook claim --agent worker --lease 30m --json');
  claim.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<ClaimFlags>(action, io);
    const agent = whoOf('--agent', flags.agent, io);
    const body = {
      agent,
      ...defined({
        session: flags.session ?? (io.env.SVC_SESSION_ID || undefined),
        session_name: flags.sessionName,
        aliases: flags.alias === undefined ? undefined : [...flags.alias],
        lease: flags.lease === undefined ? undefined : durationText('--lease', flags.lease),
        work_branch: flags.workBranch,
      }),
    };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/hook/claim', { params, body, signal }));
    if (flags.json === true) return printJson(io, data);
    // `bead=$(svc hook claim) || exit 0` is how scripts ask; programs read `action`.
    if (data.action === 'drain') throw new CliError(`no work for ${plain(agent)}`);
    const until = data.lease_until === undefined ? '' : ` until ${moment(data.lease_until)}`;
    io.err(`${plain(data.bead?.title ?? '')}: yours${until}, fence ${data.fence}\n`);
    return io.out(`${data.bead_id}\n`);
  });
}

function addDemand(hook: Command, io: Io): void {
  const demand = cityCommand(hook, 'demand', 'count what waits for each agent and pool').option('--json', 'print one JSON line for each');
  withExamples(demand, 'svc hook demand', 'svc hook demand --json');
  demand.action(async (_options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api, city } = context;
    const params = { path: { cityName: city } };
    await listAll<Schemas['HookDemandItem']>(context, {
      empty: 'nothing waits for an agent or pool',
      show: (items) =>
        table(
          ['ROUTE', 'READY'],
          items.map(({ route, ready }) => [route, String(ready)]),
        ),
      page: async () => ({
        items: (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/hook/demand', { params, signal }))).data.items ?? [],
      }),
    });
  });
}
