import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

/** Why a city has a new revision: it came up, its files changed, a request changed them, or somebody asked to read them again. */
export const CONFIG_CAUSES = ['start', 'files', 'api', 'reload'] as const;
export type ConfigCause = (typeof CONFIG_CAUSES)[number];

/** What can be patched, under the names of the files. */
export const PATCH_KINDS = ['agent', 'named_session', 'rigs', 'providers', 'github_pr_monitor'] as const;
export type PatchKind = (typeof PATCH_KINDS)[number];

export const ConfigReloadedPayload = contract(
  'ConfigReloadedPayload',
  z.strictObject({
    revision: int64,
    cause: z.enum(CONFIG_CAUSES),
    /** The keys whose values changed, in dotted form; the first hundred. */
    changed: z.array(z.string()),
    changed_total: int64,
    warnings: int64,
  }),
  'The city runs another configuration from this event on. `changed` names at most a hundred keys, `changed_total` counts all.',
);
export const ConfigRejectedPayload = contract(
  'ConfigRejectedPayload',
  z.strictObject({ revision: int64, errors: z.array(z.string()), errors_total: int64 }),
  'The files changed and cannot be used. The city goes on with `revision`; `errors` holds at most twenty.',
);

const changes = { revision: int64, changed: z.array(z.string()) };
export const AgentConfigPayload = contract(
  'AgentConfigPayload',
  z.strictObject({ agent: z.string(), ...changes }),
  'One agent of the configuration; `changed` names its keys.',
);
export const RigConfigPayload = contract(
  'RigConfigPayload',
  z.strictObject({ rig: z.string(), ...changes }),
  'One rig of the configuration; `changed` names its keys.',
);
export const ProviderConfigPayload = contract(
  'ProviderConfigPayload',
  z.strictObject({ provider: z.string(), ...changes }),
  'One provider of the catalogue; `changed` names its keys.',
);
export const PackConfigPayload = contract(
  'PackConfigPayload',
  z.strictObject({ pack: z.string(), ...changes }),
  'One import; `pack` is its binding, `changed` names its keys.',
);
export const PatchConfigPayload = contract(
  'PatchConfigPayload',
  z.strictObject({ kind: z.enum(PATCH_KINDS), target: z.string(), ...changes }),
  'One stored patch.',
);
export const AgentSwitchPayload = contract('AgentSwitchPayload', z.strictObject({ agent: z.string() }));
export const RigSwitchPayload = contract('RigSwitchPayload', z.strictObject({ rig: z.string() }));

export const ConfigReloaded = defineEvent('config.reloaded', 1, ConfigReloadedPayload);
export const ConfigRejected = defineEvent('config.rejected', 1, ConfigRejectedPayload);
export const AgentCreated = defineEvent('agent.created', 1, AgentConfigPayload);
export const AgentUpdated = defineEvent('agent.updated', 1, AgentConfigPayload);
export const AgentDeleted = defineEvent('agent.deleted', 1, AgentConfigPayload);
export const AgentSuspended = defineEvent('agent.suspended', 1, AgentSwitchPayload);
export const AgentResumed = defineEvent('agent.resumed', 1, AgentSwitchPayload);
export const RigCreated = defineEvent('rig.created', 1, RigConfigPayload);
export const RigUpdated = defineEvent('rig.updated', 1, RigConfigPayload);
export const RigDeleted = defineEvent('rig.deleted', 1, RigConfigPayload);
export const RigSuspended = defineEvent('rig.suspended', 1, RigSwitchPayload);
export const RigResumed = defineEvent('rig.resumed', 1, RigSwitchPayload);
export const ProviderCreated = defineEvent('provider.created', 1, ProviderConfigPayload);
export const ProviderUpdated = defineEvent('provider.updated', 1, ProviderConfigPayload);
export const ProviderDeleted = defineEvent('provider.deleted', 1, ProviderConfigPayload);
export const PackAdded = defineEvent('pack.added', 1, PackConfigPayload);
export const PackUpdated = defineEvent('pack.updated', 1, PackConfigPayload);
export const PackRemoved = defineEvent('pack.removed', 1, PackConfigPayload);
export const PatchSet = defineEvent('patch.set', 1, PatchConfigPayload);
export const PatchDeleted = defineEvent('patch.deleted', 1, PatchConfigPayload);
