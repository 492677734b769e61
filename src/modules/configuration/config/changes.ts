import {
  AgentCreated,
  AgentDeleted,
  AgentUpdated,
  PackAdded,
  PackRemoved,
  PackUpdated,
  PatchDeleted,
  PatchSet,
  PATCH_KINDS,
  ProviderCreated,
  ProviderDeleted,
  ProviderUpdated,
  RigCreated,
  RigDeleted,
  RigUpdated,
  type PatchKind,
} from '../../../contract/events/config.events.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { byName, changedKeys, own } from './keys.js';

type Named = Readonly<Record<string, unknown>>;
type Kind = 'created' | 'updated' | 'deleted';

export interface Change {
  readonly kind: Kind;
  readonly name: string;
  readonly changed: readonly string[];
}

const KEYS_IN_AN_EVENT = 100;

/** What came, went and changed between two tables of things. */
function changesBetween(before: Record<string, Named | object>, after: Record<string, Named | object>): Change[] {
  const result: Change[] = [];
  for (const [name, thing] of Object.entries(after)) {
    const old = own(before, name);
    const changed = changedKeys(old, thing).slice(0, KEYS_IN_AN_EVENT);
    if (old === undefined) result.push({ kind: 'created', name, changed });
    else if (changed.length > 0) result.push({ kind: 'updated', name, changed });
  }
  for (const [name, thing] of Object.entries(before))
    if (own(after, name) === undefined)
      result.push({ kind: 'deleted', name, changed: changedKeys(thing, undefined).slice(0, KEYS_IN_AN_EVENT) });
  return result;
}

/** The keys of a composed configuration that are compared; things with names under their names. */
export function comparable(config: CityConfig): Record<string, unknown> {
  const { resolved_providers: _, ...rest } = config;
  const named = (key: string): unknown => {
    const list = config[key];
    return Array.isArray(list) ? byName(list as { name?: string }[], (item) => item.name ?? '') : list;
  };
  return {
    ...rest,
    agents: byName(config.agents, (agent) => agent.qualified_name),
    named_sessions: byName(config.named_sessions, (session) => session.qualified_name),
    rigs: byName(config.rigs, (rig) => rig.name),
    patches: Object.fromEntries(PATCH_KINDS.map((kind) => [kind, patchesOf(config, kind)])),
    service: named('service'),
    webhook: named('webhook'),
    formulas: byName(config.formulas, (file) => `${file.rig}/${file.name}`),
    order_files: byName(config.order_files, (file) => `${file.rig}/${file.name}`),
    commands: byName(config.commands, (file) => `${file.rig}/${file.name}`),
    doctor_checks: byName(config.doctor_checks, (file) => `${file.rig}/${file.name}`),
    mcp_servers: byName(config.mcp_servers ?? [], (file) => `${file.rig}/${file.name}`),
    overlays: byName(config.overlays ?? [], (file) => `${file.rig}/${file.name}`),
  };
}

/** Every key that differs between two configurations. */
export function keysBetween(before: CityConfig, after: CityConfig): string[] {
  return changedKeys(comparable(before), comparable(after));
}

/** What a stored patch is for: `[dir/]name`, or the template of a named session without a name. */
export function patchTarget(patch: Readonly<Record<string, unknown>>): string {
  const { name = patch.template } = patch;
  const target = typeof name === 'string' ? name : '';
  return typeof patch.dir === 'string' && patch.dir !== '' ? `${patch.dir}/${target}` : target;
}

function patchesOf(config: CityConfig, kind: PatchKind): Record<string, Named> {
  return byName(config.patches[kind], patchTarget);
}

/** A thing that the newer configuration has differently. */
export interface NamedChange extends Change {
  readonly of: 'pack' | 'provider' | 'rig' | 'agent' | `patches.${PatchKind}`;
}

/** Every agent, rig, provider, import and patch that the newer configuration has differently. */
export function changesOf(before: CityConfig, after: CityConfig): NamedChange[] {
  const of = (what: NamedChange['of'], old: Record<string, object>, now: Record<string, object>): NamedChange[] =>
    changesBetween(old, now).map((change) => ({ of: what, ...change }));
  const rigs = (config: CityConfig): Record<string, object> => byName(config.rigs, (item) => item.name);
  const agents = (config: CityConfig): Record<string, object> => byName(config.agents, (item) => item.qualified_name);
  return [
    ...of('pack', before.imports, after.imports),
    ...of('provider', before.providers, after.providers),
    ...of('rig', rigs(before), rigs(after)),
    ...of('agent', agents(before), agents(after)),
    ...PATCH_KINDS.flatMap((kind) => of(`patches.${kind}`, patchesOf(before, kind), patchesOf(after, kind))),
  ];
}

const EVENTS = {
  pack: { created: PackAdded, updated: PackUpdated, deleted: PackRemoved },
  provider: { created: ProviderCreated, updated: ProviderUpdated, deleted: ProviderDeleted },
  rig: { created: RigCreated, updated: RigUpdated, deleted: RigDeleted },
  agent: { created: AgentCreated, updated: AgentUpdated, deleted: AgentDeleted },
} as const;

/** The event that tells of a change. */
export function eventOf(
  { of, kind, name, changed }: NamedChange,
  { stream, actor, revision }: { stream: string; actor: string; revision: number },
): NewEvent {
  const base = { stream, actor, subject: name };
  const payload = { revision, changed: [...changed] };
  if (of === 'pack') return event(EVENTS.pack[kind], { ...base, payload: { pack: name, ...payload } });
  if (of === 'provider') return event(EVENTS.provider[kind], { ...base, payload: { provider: name, ...payload } });
  if (of === 'rig') return event(EVENTS.rig[kind], { ...base, payload: { rig: name, ...payload } });
  if (of === 'agent') return event(EVENTS.agent[kind], { ...base, payload: { agent: name, ...payload } });
  const patched = of.slice('patches.'.length) as PatchKind;
  return event(kind === 'deleted' ? PatchDeleted : PatchSet, { ...base, payload: { kind: patched, target: name, ...payload } });
}
