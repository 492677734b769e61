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
} from '../../contract/events/config.events.js';
import { event, type NewEvent } from '../../platform/event-log/event.js';
import type { CityConfig } from '../composition/city-config.js';
import { byName, changedKeys } from './keys.js';

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
    const old = before[name];
    const changed = changedKeys(old, thing).slice(0, KEYS_IN_AN_EVENT);
    if (old === undefined) result.push({ kind: 'created', name, changed });
    else if (changed.length > 0) result.push({ kind: 'updated', name, changed });
  }
  for (const [name, thing] of Object.entries(before))
    if (after[name] === undefined)
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

/** One event for each agent, rig, provider, import and patch that the newer configuration has differently. */
export function eventsBetween(
  before: CityConfig,
  after: CityConfig,
  facts: { stream: string; actor: string; revision: number },
): NewEvent[] {
  const { stream, actor, revision } = facts;
  const events: NewEvent[] = [];
  const put = (before_: Record<string, object>, after_: Record<string, object>, make: (change: Change) => NewEvent): void => {
    for (const change of changesBetween(before_, after_)) events.push(make(change));
  };
  const base = (name: string): { stream: string; actor: string; subject: string } => ({ stream, actor, subject: name });
  put(before.imports, after.imports, ({ kind, name, changed }) =>
    event({ created: PackAdded, updated: PackUpdated, deleted: PackRemoved }[kind], {
      ...base(name),
      payload: { pack: name, revision, changed: [...changed] },
    }),
  );
  put(before.providers, after.providers, ({ kind, name, changed }) =>
    event({ created: ProviderCreated, updated: ProviderUpdated, deleted: ProviderDeleted }[kind], {
      ...base(name),
      payload: { provider: name, revision, changed: [...changed] },
    }),
  );
  const rig = (list: CityConfig): Record<string, object> => byName(list.rigs, (item) => item.name);
  put(rig(before), rig(after), ({ kind, name, changed }) =>
    event({ created: RigCreated, updated: RigUpdated, deleted: RigDeleted }[kind], {
      ...base(name),
      payload: { rig: name, revision, changed: [...changed] },
    }),
  );
  const agent = (list: CityConfig): Record<string, object> => byName(list.agents, (item) => item.qualified_name);
  put(agent(before), agent(after), ({ kind, name, changed }) =>
    event({ created: AgentCreated, updated: AgentUpdated, deleted: AgentDeleted }[kind], {
      ...base(name),
      payload: { agent: name, revision, changed: [...changed] },
    }),
  );
  for (const patched of PATCH_KINDS)
    put(patchesOf(before, patched), patchesOf(after, patched), ({ kind, name, changed }) =>
      event(kind === 'deleted' ? PatchDeleted : PatchSet, {
        ...base(name),
        payload: { kind: patched, target: name, revision, changed: [...changed] },
      }),
    );
  return events;
}
