import type { Edit } from './history-config.js';
import type { Random } from './random.js';

/** What to ask of a city's configuration next, and what the history notes about it. */
export interface EditRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Under `/v0/city/{name}`. */
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
  readonly edit: Pick<Edit, 'kind' | 'subject' | 'sets' | 'marker'>;
}

/** What the writers believe that a city has of theirs; it may be wrong, and what is asked for is refused then. */
export class Things {
  readonly agents: string[] = [];
  readonly rigs: string[] = [];
  readonly providers: string[] = [];
}

type Make = (random: Random, things: Things, marker: string) => EditRequest | undefined;

/** By how often each is drawn. */
const MAKES: readonly [number, Make][] = [
  [12, createAgent],
  [14, updateAgent],
  [7, removeAgent],
  [7, switchAgent],
  [4, createRig],
  [4, removeRig],
  [4, switchRig],
  [5, createProvider],
  [4, removeProvider],
  [22, putPatch],
  [8, removePatch],
];
const SUM = MAKES.reduce((sum, [weight]) => sum + weight, 0);
/** Every rig and every provider brings agents of its own: without a limit the lists grow with their product. */
const MOST = 3;

export function drawEdit(random: Random, things: Things, marker: string): EditRequest {
  let at = random.next() * SUM;
  const make = MAKES.find(([weight]) => (at -= weight) < 0)?.[1] ?? createAgent;
  return make(random, things, marker) ?? createAgent(random, things, marker);
}

function keyOf(random: Random, marker: string): { key?: string } {
  return random.chance(0.6) ? { key: `k-${marker}` } : {};
}

function one(random: Random, names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : random.pick(names.slice(-6));
}

function createAgent(random: Random, _things: Things, marker: string): EditRequest {
  const subject = `a-${marker}`;
  const body = { name: subject, provider: 'loopback', description: marker };
  const edit = { kind: 'agent.create', subject, sets: { [`agent ${subject} description`]: marker }, marker } as const;
  return { method: 'POST', path: '/agents', body, ...keyOf(random, marker), edit };
}

function updateAgent(random: Random, things: Things, marker: string): EditRequest | undefined {
  const subject = one(random, things.agents);
  if (subject === undefined) return undefined;
  const edit = { kind: 'agent.update', subject, sets: { [`agent ${subject} description`]: marker }, marker } as const;
  return { method: 'PATCH', path: `/agent/${subject}`, body: { description: marker }, edit };
}

function removeAgent(random: Random, things: Things, marker: string): EditRequest | undefined {
  const subject = one(random, things.agents);
  if (subject === undefined) return undefined;
  const edit = { kind: 'agent.remove', subject, sets: { [`agent ${subject} description`]: null }, marker } as const;
  return { method: 'DELETE', path: `/agent/${subject}`, edit };
}

function switchAgent(random: Random, things: Things, marker: string): EditRequest | undefined {
  const subject = one(random, things.agents);
  if (subject === undefined) return undefined;
  const action = random.pick(['suspend', 'resume'] as const);
  return { method: 'POST', path: `/agent/${subject}/${action}`, edit: { kind: `agent.${action}`, subject, sets: {}, marker } };
}

function createRig(random: Random, things: Things, marker: string): EditRequest | undefined {
  if (things.rigs.length >= MOST) return removeRig(random, things, marker);
  const subject = `r-${marker}`;
  // The last of a long marker, which tell it from others: a prefix has at most twelve.
  const body = { name: subject, default_branch: 'main', prefix: `r${marker.replaceAll(/\W/g, '').slice(-11)}` };
  const edit = { kind: 'rig.create', subject, sets: { [`rig ${subject} path`]: `rigs/${subject}` }, marker } as const;
  return { method: 'POST', path: '/rigs', body, ...keyOf(random, marker), edit };
}

function removeRig(random: Random, things: Things, marker: string): EditRequest | undefined {
  const subject = one(random, things.rigs);
  if (subject === undefined) return undefined;
  const sets = { [`rig ${subject} path`]: null, [`patch rigs ${subject} default_branch`]: null };
  return { method: 'DELETE', path: `/rig/${subject}?cascade=true`, edit: { kind: 'rig.remove', subject, sets, marker } };
}

function switchRig(random: Random, things: Things, marker: string): EditRequest | undefined {
  const subject = one(random, things.rigs);
  if (subject === undefined) return undefined;
  const action = random.pick(['suspend', 'resume'] as const);
  return { method: 'POST', path: `/rig/${subject}/${action}`, edit: { kind: `rig.${action}`, subject, sets: {}, marker } };
}

function createProvider(random: Random, things: Things, marker: string): EditRequest | undefined {
  if (things.providers.length >= MOST) return removeProvider(random, things, marker);
  const subject = `p-${marker}`;
  const body = { name: subject, base: 'builtin:loopback', display_name: marker };
  const edit = { kind: 'provider.create', subject, sets: { [`provider ${subject} display_name`]: marker }, marker } as const;
  return { method: 'POST', path: '/providers', body, ...keyOf(random, marker), edit };
}

function removeProvider(random: Random, things: Things, marker: string): EditRequest | undefined {
  const subject = one(random, things.providers);
  if (subject === undefined) return undefined;
  const edit = { kind: 'provider.remove', subject, sets: { [`provider ${subject} display_name`]: null }, marker } as const;
  return { method: 'DELETE', path: `/provider/${subject}`, edit };
}

interface Patched {
  readonly list: string;
  readonly single: string;
  /** What the files call the kind, and the key of it that is written. */
  readonly kind: string;
  readonly key: string;
}
const AGENT: Patched = { list: 'agents', single: 'agent', kind: 'agent', key: 'tmux_alias' };
const RIG: Patched = { list: 'rigs', single: 'rig', kind: 'rigs', key: 'default_branch' };
const PROVIDER: Patched = { list: 'providers', single: 'provider', kind: 'providers', key: 'prompt_flag' };

/** Mostly of what everybody patches. */
function target(random: Random, things: Things): [Patched, string] {
  const at = random.next();
  if (at < 0.45) return [AGENT, 'mayor'];
  if (at < 0.65) return [PROVIDER, 'loopback'];
  if (at < 0.75) return [PROVIDER, one(random, things.providers) ?? 'loopback'];
  if (at < 0.85) return [AGENT, one(random, things.agents) ?? 'mayor'];
  const rig = one(random, things.rigs);
  return rig === undefined ? [AGENT, 'mayor'] : [RIG, rig];
}

function putPatch(random: Random, things: Things, marker: string): EditRequest {
  const [{ list, kind, key }, subject] = target(random, things);
  const sets = { [`patch ${kind} ${subject} ${key}`]: marker };
  const body = { name: subject, [key]: marker };
  return { method: 'PUT', path: `/patches/${list}`, body, edit: { kind: 'patch.put', subject, sets, marker } };
}

function removePatch(random: Random, things: Things, marker: string): EditRequest {
  const [{ single, kind, key }, subject] = target(random, things);
  const sets = { [`patch ${kind} ${subject} ${key}`]: null };
  return { method: 'DELETE', path: `/patches/${single}/${subject}`, edit: { kind: 'patch.remove', subject, sets, marker } };
}
