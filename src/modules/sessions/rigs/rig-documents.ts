import { problem } from '../../../contract/problems.js';
import { tableIn, tablesIn, type Document } from '../../configuration/config/documents.js';
import { uncoverIn } from '../../configuration/patches/patch-documents.js';

/** Edits of the documents that say which rigs a city has: `city.toml` and `.gc/site.toml`. They alter what they are given. */
export interface NewRig {
  readonly name: string;
  readonly path: string;
  readonly prefix: string | undefined;
  readonly defaultBranch: string | undefined;
}

export interface RigChange {
  readonly path?: string | undefined;
  readonly prefix?: string | undefined;
  readonly defaultBranch?: string | undefined;
  readonly suspended?: boolean | undefined;
}

/** The imports that every new rig gets, as the files of a city say them; of two of one name the later counts. */
export function importsOfNewRigs(files: readonly Document[]): Document {
  return Object.assign({}, ...files.map((file) => structuredClone(tableIn(file, 'defaults', 'rig', 'imports')))) as Document;
}

/** Adds a rig with the imports that every new rig gets. */
export function addRig(city: Document, { name, prefix, defaultBranch }: NewRig, imports: Document): void {
  const rig: Document = { name };
  if (prefix !== undefined) rig.prefix = prefix;
  if (defaultBranch !== undefined) rig.default_branch = defaultBranch;
  if (Object.keys(imports).length > 0) rig.imports = imports;
  city.rigs = [...tablesIn(city, 'rigs'), rig];
}

/** Says where a rig lies on this machine. */
export function bindRig(site: Document, name: string, path: string): void {
  const others = tablesIn(site, 'rig').filter((entry) => entry.name !== name);
  site.rig = [...others, { name, path }];
}

/** @throws ProblemError wrong_state when the rig is not written in this file */
export function changeRig(city: Document, name: string, { prefix, defaultBranch, suspended }: RigChange): void {
  const rig = tablesIn(city, 'rigs').find((entry) => entry.name === name);
  if (rig === undefined) throw elsewhere(name);
  if (prefix !== undefined) rig.prefix = prefix;
  if (defaultBranch !== undefined) rig.default_branch = defaultBranch;
  if (suspended === undefined) return;
  delete rig.suspended;
  rig.suspended_on_start = suspended;
}

/** Takes what a change says out of the patches of a rig: what a patch hides would not change. Answers whether they had any of it. */
export function uncoverRig(document: Document, name: string, { path, prefix, defaultBranch, suspended }: RigChange): boolean {
  const keys = [
    ...(path === undefined ? [] : ['path']),
    ...(prefix === undefined ? [] : ['prefix']),
    ...(defaultBranch === undefined ? [] : ['default_branch']),
    ...(suspended === undefined ? [] : ['suspended_on_start', 'suspended']),
  ];
  return uncoverIn(document, 'rigs', name, (patch) => {
    const found = keys.filter((key) => Object.hasOwn(patch, key));
    for (const key of found) delete patch[key];
    return found.length > 0;
  });
}

/** Rebinds a rig; a path that city.toml still has goes, because the binding is what counts. */
export function moveRig(city: Document, site: Document, name: string, path: string): void {
  const rig = tablesIn(city, 'rigs').find((entry) => entry.name === name);
  if (rig !== undefined) delete rig.path;
  bindRig(site, name, path);
}

/** Removes a rig and the agents that are defined for it alone. @throws ProblemError wrong_state as `changeRig` */
export function removeRig(city: Document, name: string): void {
  const rigs = tablesIn(city, 'rigs');
  if (!rigs.some((entry) => entry.name === name)) throw elsewhere(name);
  put(
    city,
    'rigs',
    rigs.filter((entry) => entry.name !== name),
  );
  put(
    city,
    'agent',
    tablesIn(city, 'agent').filter((entry) => entry.dir !== name),
  );
}

export function unbindRig(site: Document, name: string): void {
  put(
    site,
    'rig',
    tablesIn(site, 'rig').filter((entry) => entry.name !== name),
  );
}

/** Where a document speaks of a rig, as a path of keys, and by which member. */
const MENTIONS: readonly (readonly [path: readonly string[], member: string])[] = [
  [['patches', 'rigs'], 'name'],
  [['patches', 'agent'], 'dir'],
  [['patches', 'named_session'], 'dir'],
  [['patches', 'github_pr_monitor'], 'rig'],
  [['named_session'], 'dir'],
  [['webhook'], 'rig'],
  [['github', 'pr_monitor'], 'rig'],
  [['orders', 'overrides'], 'rig'],
];

/** What would be left over without the rig, as `patches.agent "web/polecat"`. */
export function mentionsOf(document: Document, name: string): string[] {
  return MENTIONS.flatMap(([path, member]) =>
    tablesIn(parentOf(document, path) ?? {}, path.at(-1)!)
      .filter((entry) => entry[member] === name)
      .map((entry) => `${path.join('.')} "${labelOf(entry, name, member)}"`),
  );
}

/** Takes away everything that `mentionsOf` names. */
export function removeMentions(document: Document, name: string): void {
  for (const [path, member] of MENTIONS) {
    const parent = parentOf(document, path);
    const key = path.at(-1)!;
    if (parent === undefined || parent[key] === undefined) continue;
    put(
      parent,
      key,
      tablesIn(parent, key).filter((entry) => entry[member] !== name),
    );
    if (path.length === 2 && Object.keys(parent).length === 0) delete document[path[0]!];
  }
}

function labelOf(entry: Document, name: string, member: string): string {
  const own = [entry.name, entry.template].find((value): value is string => typeof value === 'string' && value !== '');
  if (own === undefined) return name;
  return member === 'dir' ? `${name}/${own}` : own;
}

function parentOf(document: Document, path: readonly string[]): Document | undefined {
  return path.length === 1 ? document : tableIn(document, path[0]!);
}

function put(parent: Document, key: string, entries: Document[]): void {
  if (entries.length > 0) parent[key] = entries;
  else delete parent[key];
}

function elsewhere(name: string): Error {
  return problem('wrong_state', `rig "${name}" is not written in city.toml; change the file that defines it`);
}
