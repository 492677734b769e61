import type { ConfigView } from './history-config.js';
import type { Member } from './fleet.js';
import { ask, type Answer } from './http.js';
import type { Recorder } from './recorder.js';
import { placeOf } from './work-writers.js';

/** The members of a composed configuration that are looked at. */
interface Composed {
  readonly agents: readonly { qualified_name: string; [key: string]: unknown }[];
  readonly rigs: readonly { name: string; [key: string]: unknown }[];
  readonly providers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly patches: Readonly<Record<string, readonly { name?: string; dir?: string; template?: string; [key: string]: unknown }[]>>;
  readonly convergence?: { readonly max_total?: number };
}
type Listed = readonly Readonly<Record<string, unknown>>[];

const SHOWN = ['description', 'tmux_alias', 'path', 'default_branch', 'display_name', 'prompt_flag'];
const MARKER = /^c\d+-\d+$/;
const KINDS = { agent: 'agents', rigs: 'rigs', providers: 'providers' } as const;

/** Everything that one replica says a city is composed of; undefined when it does not say. */
export async function composedView(replica: Member, city: string, recorder: Recorder): Promise<ConfigView | undefined> {
  const answer = await ask('GET', `${replica.url}/v0/city/${city}/config/composed`, { ms: 3_000 });
  const { index } = placeOf(answer);
  if (answer?.status !== 200 || index === undefined) return undefined;
  const { revision, config } = JSON.parse(answer.body) as { revision: number; config: Composed };
  const names: string[] = [];
  const values: Record<string, string> = {};
  const add = (name: string, thing: Readonly<Record<string, unknown>>): void => {
    names.push(name);
    for (const key of SHOWN) {
      const value = thing[key];
      if (typeof value === 'string' && isShown(key, value)) values[`${name} ${key}`] = value;
    }
  };
  for (const agent of config.agents) add(`agent ${agent.qualified_name}`, agent);
  for (const rig of config.rigs) add(`rig ${rig.name}`, rig);
  for (const [name, provider] of Object.entries(config.providers)) add(`provider ${name}`, provider);
  for (const [kind, patches] of Object.entries(config.patches))
    for (const patch of patches) add(`patch ${kind} ${patch.dir ? `${patch.dir}/` : ''}${patch.name ?? patch.template ?? ''}`, patch);
  const disk = config.convergence?.max_total;
  const at = { city, source: replica.name, at: recorder.now(), index, revision };
  return { ...at, names, values, ...(disk === undefined ? {} : { disk }) };
}

/** What the lists of one replica say; undefined when they do not belong to one position. */
export async function listedView(replica: Member, city: string, recorder: Recorder): Promise<ConfigView | undefined> {
  const get = (path: string): Promise<Answer | undefined> => ask('GET', `${replica.url}/v0/city/${city}/${path}`);
  const [agents, rigs, providers, ...patches] = await Promise.all([
    get('agents'),
    get('rigs'),
    get('providers'),
    ...Object.values(KINDS).map((list) => get(`patches/${list}`)),
  ]);
  const all = [agents, rigs, providers, ...patches];
  const indexes = new Set(all.map((answer) => placeOf(answer).index));
  const [index] = indexes;
  if (all.some((answer) => answer?.status !== 200) || indexes.size !== 1 || index === undefined) return undefined;
  const names = new Set<string>();
  const suspended: Record<string, readonly [boolean, boolean]> = {};
  for (const item of itemsOf(agents!)) {
    const name = `agent ${String(item.pool ?? item.name)}`;
    names.add(name);
    suspended[name] = [item.suspended_declared === true, item.suspended === true];
  }
  for (const item of itemsOf(rigs!)) {
    names.add(`rig ${String(item.name)}`);
    suspended[`rig ${String(item.name)}`] = [item.suspended_declared === true, item.suspended === true];
  }
  for (const item of itemsOf(providers!)) if (item.city_level === true) names.add(`provider ${String(item.name)}`);
  for (const [i, kind] of Object.keys(KINDS).entries())
    for (const item of itemsOf(patches[i]!))
      names.add(`patch ${kind} ${typeof item.Dir === 'string' && item.Dir !== '' ? `${item.Dir}/` : ''}${String(item.Name)}`);
  return { city, source: `lists of ${replica.name}`, at: recorder.now(), index, names: [...names], suspended };
}

/** Values that the run has set; everything else of a configuration stays as it is. */
export function isShown(key: string, value: string): boolean {
  return key === 'path' || MARKER.test(value);
}

function itemsOf({ body }: Answer): Listed {
  return (JSON.parse(body) as { items: Listed | null }).items ?? [];
}
