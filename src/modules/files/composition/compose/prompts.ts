import { createHash } from 'node:crypto';
import { fileName } from '../trees/file-tree.js';
import { Leaf, List } from '../tree.js';
import type { Agent, Agents } from './agents.js';
import { digestOf } from './convention-overlays.js';
import { NAME } from './names.js';
import { derived } from './nodes.js';
import { folderOf, resolvePath, type Located, type Run, type Written } from './run.js';

/** What the files of an agent say, for all places in which it works. */
interface Read {
  readonly prompt: Located | undefined;
  readonly names: List | undefined;
  readonly overlay: Content | undefined;
  readonly setup: Content | undefined;
}

/** A file or folder, with the digest of what is in it. */
interface Content {
  /** As in `Issue.file`. */
  readonly file: string;
  /** Absent when there is nothing. */
  readonly sha256: string | undefined;
}

/** Names that a pool may have. */
const POOL = 10_000;

/**
 * Gives agents their prompts, the names of their pools, and what their places are prepared with. An agent has a prompt that says something, unless it has a
 * command of its own. Answers the digests of prompts, which may lie anywhere.
 */
export async function readAgentFiles(run: Run, agents: Agents): Promise<{ located: Located; sha256: string }[]> {
  const digests: { located: Located; sha256: string }[] = [];
  const groups = new Map<string, Agent[]>();
  for (const agent of agents.all) {
    if (agent.definition.origin === 'implicit') continue;
    const key = keyOf(agent);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [agent]);
    else group.push(agent);
  }
  await run.each([...groups.values()], async (each, group) => {
    const read = await readFiles(each, group[0]!, digests);
    for (const agent of group)
      agent.table = agent.table.with(
        ['prompt_file', read.prompt === undefined ? undefined : derived(fileName(read.prompt.tree, read.prompt.path))],
        ['namepool', read.names],
        ...told('overlay', read.overlay),
        ...told('setup_script', read.setup),
      );
  });
  return digests;
}

function told(key: string, content: Content | undefined): [string, Leaf | undefined][] {
  return [
    [`${key}_file`, content && derived(content.file)],
    [`${key}_sha256`, content?.sha256 === undefined ? undefined : derived(content.sha256)],
  ];
}

/** Equal for agents that have the same files: the places of one definition, unless a patch changed what it says. */
function keyOf({ definition: { source, where }, table }: Agent): string {
  const written = ['prompt_template', 'namepool', 'start_command', 'overlay_dir', 'session_setup_script'].map((key) => {
    const node = table.get(key);
    return node === undefined ? '' : `${node.origin.file}#${node.at}`;
  });
  return [source, where.at, ...written].join('\0');
}

async function readFiles(run: Run, agent: Agent, digests: { located: Located; sha256: string }[]): Promise<Read> {
  const { definition, table } = agent;
  const prompt = locate(run, agent, 'prompt_template', definition.prompt);
  const where = table.get('prompt_template') ?? definition.where;
  if (prompt !== undefined) {
    const text = await run.text(prompt);
    if (text === undefined) run.error(where, `the prompt ${fileName(prompt.tree, prompt.path)} is missing`);
    else if (text.trim() === '') run.error({ origin: { file: fileName(prompt.tree, prompt.path) }, at: '' }, 'is empty');
    else digests.push({ located: prompt, sha256: createHash('sha256').update(text).digest('hex') });
  } else if (table.get('prompt_template') === undefined && table.get('start_command') === undefined)
    run.error(where, `the agent "${definition.name}" has no prompt: it is looked for in prompt.md beside it, or prompt_template names it`);
  const pool = locate(run, agent, 'namepool', definition.namepool);
  return {
    prompt,
    names: pool && (await readNames(run, pool, table.get('namepool') ?? definition.where)),
    overlay: await readContent(run, agent, 'overlay_dir', async (at) => digestOf(await run.digests(at))),
    setup: await readContent(run, agent, 'session_setup_script', async (at) => {
      const text = await run.text(at);
      return text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
    }),
  };
}

/**
 * What a path of a definition stands for. In the folder of an agent a path may count from the pack as well, as older
 * packs have it: what is there counts.
 */
async function readContent(
  run: Run,
  agent: Agent,
  key: string,
  digest: (at: Located) => Promise<string | undefined>,
): Promise<Content | undefined> {
  const written = agent.table.get(key);
  if (!(written instanceof Leaf) || written.value === '') return undefined;
  const located = locate(run, agent, key, undefined);
  if (located === undefined) return undefined;
  const { folder, name } = agent.definition;
  const home = folder.path === `agents/${name}` || folder.path.endsWith(`/agents/${name}`) ? folderOf(folderOf(folder.path)) : undefined;
  const fromHome = home === undefined ? undefined : resolvePath(run, { tree: folder.tree, path: home }, String(written.value));
  let first: Content | undefined;
  for (const at of fromHome === undefined ? [located] : [located, fromHome]) {
    const content = { file: fileName(at.tree, at.path), sha256: await digest(at) };
    if (content.sha256 !== undefined) return content;
    first ??= content;
  }
  run.warn(written, `there is no ${first!.file}`);
  return first;
}

/** The file that a key of an agent names, else the one that lies in its folder. A path counts from the file that has it. */
function locate(run: Run, { definition, table }: Agent, key: string, conventional: string | undefined): Located | undefined {
  const written = table.get(key);
  if (!(written instanceof Leaf)) return conventional === undefined ? undefined : { tree: definition.folder.tree, path: conventional };
  const source = run.sources.get(written.origin.file);
  const from = source === undefined ? definition.folder : { tree: source.tree, path: folderOf(source.path) };
  const located = resolvePath(run, from, String(written.value));
  if (located === undefined) run.error(written, 'is not a path inside the city or pack');
  return located;
}

/** One name a line; a name twice counts once. */
async function readNames(run: Run, located: Located, where: Written): Promise<List | undefined> {
  const text = await run.text(located);
  const origin = { file: fileName(located.tree, located.path) };
  if (text === undefined) {
    run.error(where, `the name pool ${origin.file} is missing`);
    return undefined;
  }
  const names = new Set(text.split('\n').map((line) => line.trim()));
  names.delete('');
  if (names.size > POOL) run.error({ origin, at: '' }, `has more than ${POOL} names`);
  else if ([...names].some((name) => !NAME.test(name))) run.error({ origin, at: '' }, `every name must match ${NAME.source}`);
  else
    return new List(
      [...names].map((name) => new Leaf(name, origin, '')),
      origin,
      '',
    );
  return undefined;
}
