import type { Composition } from '../composition.js';
import { resolveProviders } from '../presets/resolve.js';
import type { Table } from '../tree.js';
import { withDefaults } from './agent-defaults.js';
import { Agents } from './agents.js';
import { CITY_FILE, readCityFiles, ROOT_PACK, type CityFiles } from './city-files.js';
import { Collector } from './collect.js';
import { contentsOf } from './contents.js';
import { placesOfPacks, withContributions } from './contributions.js';
import { readConventions } from './conventions.js';
import { checkFragments } from './fragment-names.js';
import type { Home } from './home.js';
import { foldersTree, readFormulaTexts } from './formula-texts.js';
import { addImplicit, FORMULA } from './implicit-agents.js';
import { foldersOf, layered, type Kind } from './layers.js';
import { withLines } from './lines.js';
import { NO_KEYS } from './nodes.js';
import { ownAgents, placeOwn } from './own-agents.js';
import { checkPlaceholders } from './placeholders.js';
import { importsOf, includesOf, PackGraph, type Import } from './pack-graph.js';
import { patchAgents, patchMonitors, patchProviders, patchRigAgents, patchRigs, patchSessions, refuse } from './patches.js';
import { placeImports, warnOfShadows } from './places.js';
import { readAgentFiles } from './prompts.js';
import { checkAgents, checkRequirements, checkRigNames, checkScripts, checkStorage, checkTargets } from './references.js';
import { countResult } from './result-size.js';
import { resultOf } from './result.js';
import { readRigFormulas } from './rig-formulas.js';
import { bindRigs, followRigs, rigsOf, warnOfSharedPaths } from './rigs.js';
import { Run, TooMuch, type ComposeInput } from './run.js';
import { checkSessions, Sessions } from './sessions.js';
import { checkServices } from './services.js';
import { checkOptionDefaults } from './option-defaults.js';
import { checkDefaultFormulas, checkOrders, checkOrdersTable } from './orders.js';
import { checkMaintenance } from './maintenance.js';
import { checkStartScripts } from './start-scripts.js';
import { checkWebhooks } from './webhooks.js';
import { checkWorkDirs } from './work-dirs.js';
import { checkPrefixes, checkStart, workspaceOf } from './workspace.js';

/**
 * Composes a city from its files: its documents, its packs and its folders in the documented order, patches last. Tells
 * everything that is wrong or doubtful, each at its place; with an error there is no result.
 * @throws TreeFailure for a file that cannot be read just now; Outgrown when only a small city was to be composed
 */
export async function compose(input: ComposeInput): Promise<Composition> {
  const run = new Run(input);
  const composed = await composeBounded(run);
  const issues = await withLines(run);
  const failed = composed === undefined || issues.some(({ severity }) => severity === 'error');
  return failed ? { config: undefined, texts: new Map(), issues } : { ...composed, issues };
}

type Composed = { readonly config: Table } & Pick<Composition, 'texts'>;

async function composeBounded(run: Run): Promise<Composed | undefined> {
  try {
    const files = await readCityFiles(run);
    const composed = files === undefined ? undefined : await composeFiles(run, files);
    if (composed !== undefined) countResult(run, composed.config);
    return composed;
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    run.error({ origin: { file: CITY_FILE }, at: '' }, error.message);
    return undefined;
  }
}

async function composeFiles(run: Run, { city: documents, pack, schema, site }: CityFiles): Promise<Composed> {
  const home: Home = { tree: run.input.tree, path: '', pack: '' };
  const own = await readConventions(run, home);
  const patches = documents.table('patches') ?? NO_KEYS;

  const rigs = rigsOf(run, documents);
  bindRigs(run, rigs, site, schema);
  patchRigs(run, rigs, patches.tables('rigs'));
  warnOfSharedPaths(run, rigs);
  const rigNames = rigs.map(({ name }) => name);

  const graph = new PackGraph(run);
  const named = documents.table('packs');
  const includes = includesOf(documents.table('workspace'), 'includes', named);
  const imports = await graph.follow([...includes, ...importsOf(documents.table('imports'))], home);
  await followRigs(run, graph, rigs, home, named);
  const offered = documents.table('defaults')?.table('rig')?.table('imports');
  const forNewRigs = await graph.follow(
    importsOf(offered).map((asked) => ({ ...asked, optional: true })),
    home,
  );

  const collector = new Collector(run);
  const agents = new Agents(run);
  const sessions = new Sessions(run);
  placeImports(collector, imports, rigs, agents, sessions);
  placeOwn(run, await ownAgents(run, home, documents, pack, schema, own.digests), rigNames, agents);
  for (const table of documents.tables('named_session')) sessions.addOwn(table, rigNames);
  warnOfShadows(run, agents, silentBindings([...imports, ...rigs.flatMap((rig) => rig.imports)]));

  const places = placesOfPacks(collector, imports, rigs);
  const contributed = withContributions(run, documents, home, pack, places);
  const city = contributed.with(
    ['providers', patchProviders(run, contributed.table('providers')!, patches.tables('providers'))],
    ['github', patchMonitors(run, contributed.table('github'), patches.tables('github_pr_monitor'))],
  );
  const catalogue = city.table('providers')!;
  const deferred = patchAgents(run, agents, patches.tables('agent'), ROOT_PACK);
  patchSessions(run, sessions, patches.tables('named_session'));
  patchRigAgents(run, agents, rigs);

  checkRequirements(run, agents, [
    ...(pack === undefined ? [] : [{ table: pack, rigs: rigNames }]),
    ...places.map((place) => ({ table: place.pack.table, rigs: place.rig === '' ? rigNames : [place.rig] })),
  ]);
  const rigFormulas = await readRigFormulas(run, rigs);
  const layers = { city: imports, own, rigs, rigFormulas: rigFormulas.formulas };
  const filesOf = (kind: Kind): ReturnType<typeof layered> => layered(run, collector, kind, layers);
  const formulas = filesOf('formulas');

  const withFormula = new Set(
    formulas.items.flatMap((item) => ('entries' in item && item.text('name') === FORMULA ? [item.text('rig')!] : [])),
  );
  addImplicit(
    run,
    agents,
    catalogue,
    [{ name: '', imports: [] as readonly Import[] }, ...rigs].map((rig) => ({
      rig: rig.name,
      core: coreOf(collector, [...rig.imports, ...imports]),
      hasFormula: withFormula.has('') || withFormula.has(rig.name),
    })),
  );
  refuse(run, agents, patchAgents(run, agents, deferred, ROOT_PACK));

  const defaults = city.table('agent_defaults');
  const fragments = defaults?.texts('append_fragments')?.length ?? 0;
  for (const agent of agents.all) {
    if (agent.table.get('append_fragments') !== undefined) run.spend('copies', fragments);
    agent.table = withDefaults(agent.table, defaults);
  }
  const prompts = await readAgentFiles(run, agents);
  const workspace = workspaceOf(run, city, site, schema);
  checkStart(run, workspace, catalogue);
  checkPrefixes(run, workspace, rigs);
  checkAgents(run, agents, city);
  checkSessions(run, sessions, agents);
  checkTargets(run, agents, rigs, city);
  checkRigNames(run, city, rigs);
  checkStorage(run, city);
  checkScripts(run, city);
  checkServices(run, city);
  checkMaintenance(run, city);
  checkPlaceholders(run, agents, workspace, city.get('global'));
  checkWorkDirs(run, agents, rigs);
  const conventional = [
    { tree: home.tree, digests: own.digests },
    ...graph.packs.map((each) => ({ tree: each.home.tree, digests: each.conventions.digests })),
  ];
  await checkFragments(run, agents, workspace, conventional);
  const contents = contentsOf(run, [
    ...conventional,
    { tree: home.tree, digests: rigFormulas.digests },
    ...prompts.map(({ located: { tree, path }, sha256 }) => ({ tree, digests: new Map([[path, sha256]]) })),
  ]);
  const resolved = resolveProviders(catalogue, run.issues);
  checkOptionDefaults(run, agents, workspace, resolved);
  await checkStartScripts(run, agents, city, rigs);
  const folders = foldersOf(collector, layers);
  const texts = await readFormulaTexts(run, formulas, folders, (file) => contents.text(file));
  const orders = filesOf('orders');
  checkOrders(run, agents, orders, formulas);
  checkOrdersTable(run, city, orders);
  checkDefaultFormulas(run, agents, formulas);
  checkWebhooks(run, city, orders);
  const lists = {
    formula_folders: foldersTree(folders),
    ...{ formulas, order_files: orders, commands: filesOf('commands'), doctor_checks: filesOf('doctor') },
    ...{ mcp_servers: filesOf('mcp'), overlays: filesOf('overlays') },
  };
  const config = resultOf({ city, workspace, resolved, agents, sessions, rigs, imports, offered, forNewRigs, patches, contents, lists });
  return { config, texts };
}

function silentBindings(imports: readonly Import[]): Set<string> {
  return new Set(imports.filter(({ silent }) => silent).map(({ binding }) => binding));
}

function coreOf(collector: Collector, imports: readonly Import[]): Import['pack'] | undefined {
  for (const each of imports) {
    const core = collector.of(each).layers.find(({ name }) => name === 'core');
    if (core !== undefined) return core;
  }
  return undefined;
}
