import { Option, type Command } from 'commander';
import { ask, type Api, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, collect, keyHeader, printJson, withExamples, withKey, type CityContext } from '../command.js';
import { ApiError, CliError } from '../errors.js';
import { ofFormula } from '../formulas/hints.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { defined, pairsOf } from '../values.js';
import { awaitBatch, wholeBatch } from './many.js';
import { resultTable } from './results.js';

interface Flags {
  /** False for `--no-convoy`. */
  readonly convoy?: string | false;
  /** False for `--no-formula`. */
  readonly formula?: string | false;
  readonly on?: string;
  readonly var?: readonly string[];
  readonly title?: string;
  readonly rig?: string;
  readonly force?: boolean;
  readonly reassign?: boolean;
  readonly owned?: boolean;
  readonly merge?: 'direct' | 'mr' | 'local';
  readonly dryRun?: boolean;
  readonly atomic?: boolean;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

export function addSling(program: Command, io: Io): void {
  const sling = cityCommand(program, 'sling', 'send beads, or a formula, to an agent or a pool')
    .argument('<target>', 'the agent or pool')
    .argument('[bead...]', 'the beads')
    .option('--convoy <id>', 'send the open members of this convoy instead')
    .option('--formula <name>', 'launch this formula for each of the beads, or by itself')
    .option('--on <bead>', 'the bead that the formula is for, as if it were named behind the target')
    .option('--var <name=value>', 'a value for a variable of the formula; repeatable', collect)
    .option('--title <title>', 'title of the run')
    .option('--no-formula', 'the bead alone, whatever formula the target works by')
    .option('--no-convoy', 'make no convoy that follows the bead')
    .option('--owned', 'the convoy never closes by itself')
    .option('--rig <rig>', 'the rig in which a short target is looked up')
    .addOption(new Option('--merge <how>', 'how the work is merged').choices(['direct', 'mr', 'local']))
    .option('--reassign', 'take it from whoever has it')
    .option('--force', 'also when it is owned, routed elsewhere or of another rig')
    .option('--atomic', 'of several beads all or none')
    .option('--dry-run', 'only tell what would happen')
    .option('--json', 'print the answer as one JSON line');
  withKey(sling);
  withExamples(
    sling,
    'svc sling worker al-12',
    'svc sling worker al-12 al-13 al-14 --atomic',
    'svc sling worker --convoy al-20 --merge mr',
    'svc sling worker al-12 --formula mol-release --var version=v1.2.3',
    'svc sling worker --convoy al-20 --formula mol-do-work --dry-run',
    'svc sling worker al-12 --dry-run',
  );
  sling.action(async (target: string, beads: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { convoy, atomic, formula, on } = context.flags;
    if (on !== undefined && typeof formula !== 'string') throw new CliError('name the formula with --formula');
    if (on !== undefined && (beads.length > 0 || typeof convoy === 'string'))
      throw new CliError('name the beads either behind the target or with --on');
    const named = on === undefined ? beads : [on];
    if (named.length > 0 && typeof convoy === 'string') throw new CliError('name either beads or a convoy with --convoy');
    if (typeof convoy === 'string') return slingMany(context, target, { convoy });
    if (named.length === 0 && typeof formula !== 'string')
      throw new CliError('name beads, a convoy with --convoy, or a formula with --formula');
    return named.length <= 1 && atomic !== true ? slingOne(context, target, named[0]) : slingMany(context, target, { beads: named });
  });
}

const optionsOf = ({
  convoy,
  rig,
  force,
  reassign,
  owned,
  merge,
  dryRun,
  formula,
  title,
  var: pairs,
}: Flags): Partial<Omit<Schemas['SlingInputBody'], 'target' | 'bead'>> =>
  defined({
    ...{ rig, force, reassign, owned, merge, title, no_convoy: convoy === false ? true : undefined, dry_run: dryRun },
    ...{ formula: formula || undefined, vars: pairsOf('--var', pairs), no_formula: formula === false ? true : undefined },
  });

async function slingOne({ api, city, flags, io, path }: CityContext<Flags>, target: string, bead: string | undefined): Promise<void> {
  const params = { path: { cityName: city }, header: keyHeader(flags) };
  const body = { target, ...defined(typeof flags.formula === 'string' ? { attached_bead_id: bead } : { bead }), ...optionsOf(flags) };
  const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/sling', { params, body, signal })).catch(
    typeof flags.formula === 'string' ? ofLaunch(flags.formula, bead) : ofConvoy(target, bead!),
  );
  for (const warning of data.warnings) io.err(`${path}: warning: ${plain(warning)}\n`);
  if (flags.json === true) return printJson(io, data);
  const convoy = data.convoy_id === undefined ? '' : ` (convoy ${data.convoy_id})`;
  if (data.workflow_id !== undefined) return io.out(`${launchedLine(data)}${eventLines(data.events)}`);
  if (data.status === 'would_sling') {
    await io.out(data.changed ? `${bead} would be slung to ${data.target}${convoy}\n` : `${bead} is slung to ${data.target} already\n`);
    return io.out(eventLines(data.events));
  }
  return io.out(data.changed ? `${bead} is slung to ${data.target}${convoy}\n` : `${bead} was slung to ${data.target} already${convoy}\n`);
}

function launchedLine({ workflow_id: run, formula, bead, target, status, changed }: Schemas['SlingResponse']): string {
  const what = bead === undefined ? `formula ${formula}` : `${bead} with formula ${formula}`;
  if (status === 'would_sling') return `${what} would be slung to ${target}\n`;
  return `${what} ${changed ? 'is' : 'was'} slung to ${target}${changed ? '' : ' already'} (run ${run})\n`;
}

const BEAD_ID = /-\d+$/;

/** What to do where a formula cannot be launched so. */
function ofLaunch(formula: string, on: string | undefined): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404 && error.message.includes('target ')) return hinted(404, 'see `svc agent list`')(error);
    if (error.status === 409) return hinted(409, on === undefined ? 'see `svc run list`' : `see \`svc bead show ${on}\``)(error);
    return ofFormula(formula)(error);
  };
}

/** What to do where the bead is somebody's, or a convoy. */
function ofConvoy(target: string, bead: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof ApiError && error.status === 400 && / is a convoy/.test(error.message))
      throw new CliError(`${bead} is a convoy: sling its open members with \`svc sling ${target} --convoy ${bead}\``);
    if (error instanceof ApiError && error.status === 404 && error.message.includes('target '))
      return hinted(404, 'see `svc agent list`')(error);
    if (error instanceof ApiError && error.code === 'sling-missing-bead') {
      const meant = BEAD_ID.test(bead) ? '' : `; a formula is launched with \`svc sling ${target} --formula ${bead}\``;
      return hinted(error.status, `see \`svc bead list\`${meant}`)(error);
    }
    return hinted(409, `see \`svc bead show ${bead}\``)(error);
  };
}

async function slingMany(
  { api, city, flags, io }: CityContext<Flags>,
  target: string,
  what: { convoy: string } | { beads: string[] },
): Promise<void> {
  const params = { path: { cityName: city }, header: keyHeader(flags) };
  const body = { target, ...what, ...optionsOf(flags), ...defined({ atomic: flags.atomic }) };
  const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/sling/batch', { params, body, signal }));
  const { request_id, event_cursor } = data;
  if (request_id !== undefined && event_cursor !== undefined)
    return goesOn(api, io, { city, accepted: { request_id, event_cursor }, flags });
  const results = data.results;
  if (flags.json === true) await printJson(io, data);
  else {
    await io.out(resultTable(results, io));
    await io.out(eventLines(data.events));
  }
  if (data.refused > 0) throw new CliError(`${data.refused} of ${results.length} refused`);
}

interface GoingOn {
  readonly city: string;
  readonly accepted: { readonly request_id: string; readonly event_cursor: string };
  readonly flags: Flags;
}

/** Many are slung in the background: their end is awaited, and then it is told as of few. */
async function goesOn(api: Api, io: Io, { city, accepted, flags }: GoingOn): Promise<void> {
  const json = flags.json === true;
  const ending = await awaitBatch(api, io, { city, accepted, quiet: json });
  const batch = await wholeBatch(api, city, accepted.request_id);
  await (json ? printJson(io, batch) : io.out(resultTable(batch.results, io)));
  if (!ending.ok) throw new CliError(plain(`${ending.failure.error_code}: ${ending.failure.error_message}`));
  if (batch.refused > 0) throw new CliError(`${batch.refused} of ${batch.results.length} refused`);
}

const eventLines = (events: readonly Schemas['SlingEvent'][] | undefined): string =>
  (events ?? []).map(({ type, subject }) => `  ${plain(`${type} ${subject}`)}\n`).join('');
