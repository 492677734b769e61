import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, collect, printJson, withExamples, type CityContext } from '../command.js';
import { nameOf } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { pairsOf } from '../values.js';
import { ofFormula } from './hints.js';
import { formulaDetails, formulaTable, previewTree } from './view.js';

interface ScopeFlags {
  readonly rig?: string;
}

interface ShowFlags extends ScopeFlags {
  readonly target?: string;
  readonly var?: readonly string[];
  readonly json?: boolean;
}

type Scope = { scope_kind: string; scope_ref: string };
const RIG = ['--rig <rig>', 'as this rig sees it (default: the city)'] as const;
const TARGET = ['--target <target>', 'the agent or the bead that it would be for (default: the first agent)'] as const;

export function addReads(formula: Command, io: Io): void {
  const all = cityCommand(formula, 'list', 'list formulas, by name; one that cannot be used is there with what is wrong').option(...RIG);
  withLimit(all, '100');
  withExamples(all, 'svc formula list', 'svc formula list --rig web --json');
  all.action(async (_options, action: Command) => {
    const context = await cityContextOf<ListFlags & ScopeFlags>(action, io);
    const { api, city } = context;
    await list<Schemas['FormulaSummaryResponse']>(context, {
      plural: 'formulas',
      empty: 'no formulas; save one with `svc formula save`',
      show: (items) => formulaTable(items, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...scopeOf(context), ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/formulas', { params, signal }))).data;
      },
    });
  });

  const show = cityCommand(formula, 'show', 'show a formula: its variables, where it comes from, and its steps')
    .argument('<name>', 'the formula')
    .option(...RIG)
    .option(...TARGET)
    .option('--json', 'print the answer as one JSON line');
  withExamples(show, 'svc formula show mol-do-work');
  show.action(async (name: string, _options, action: Command) => {
    const context = await cityContextOf<ShowFlags>(action, io);
    const { api, city, flags } = context;
    const query = { ...scopeOf(context), target: await targetOf(context) };
    const params = { path: { cityName: city, name: nameOf('a formula', name) }, query };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/formulas/{name}', { params, signal })).catch(
      ofFormula(name),
    );
    await (flags.json === true ? printJson(io, data) : io.out(formulaDetails(data)));
  });

  const preview = cityCommand(formula, 'preview', 'show what a formula becomes with these values, as a tree; nothing is stored')
    .argument('<name>', 'the formula')
    .option('--var <name=value>', 'a value for a variable; repeatable', collect)
    .option(...RIG)
    .option(...TARGET)
    .option('--json', 'print the answer as one JSON line');
  withExamples(preview, 'svc formula preview mol-do-work --var issue=al-1');
  preview.action(async (name: string, _options, action: Command) => {
    const context = await cityContextOf<ShowFlags>(action, io);
    const { api, city, flags } = context;
    const body = { ...scopeOf(context), target: await targetOf(context), vars: pairsOf('--var', flags.var) ?? {} };
    const params = { path: { cityName: city, name: nameOf('a formula', name) } };
    const { data } = await ask(api, (signal) =>
      api.http.POST('/v0/city/{cityName}/formulas/{name}/preview', { params, body, signal }),
    ).catch(ofFormula(name));
    await (flags.json === true ? printJson(io, data) : io.out(previewTree(data)));
  });

  const source = cityCommand(formula, 'source', 'print the city’s own file of a formula').argument('<name>', 'the formula');
  withExamples(source, 'svc formula source greet > greet.toml');
  source.action(async (name: string, _options, action: Command) => {
    const { api, city } = await cityContextOf<object>(action, io);
    const params = { path: { cityName: city, name: nameOf('a formula', name) } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/formulas/{name}/source', { params, signal })).catch(
      ofFormula(name),
    );
    await io.out(data.source);
  });
}

function scopeOf({ city, flags }: CityContext<ScopeFlags>): Scope {
  return flags.rig === undefined ? { scope_kind: 'city', scope_ref: city } : { scope_kind: 'rig', scope_ref: flags.rig };
}

async function targetOf({ api, city, flags }: CityContext<ShowFlags>): Promise<string> {
  if (flags.target !== undefined) return flags.target;
  const params = { path: { cityName: city } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/agents', { params, signal }));
  const [agent] = data.items ?? [];
  // A member of a pool is there only as long as its session.
  const first = agent?.pool ?? agent?.name;
  if (first === undefined) throw new CliError('the city has no agents: say what the formula would be for with --target');
  return first;
}
