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
    cause: z
      .enum(CONFIG_CAUSES)
      .describe(
        'Why there is a new revision: the city came up, its files changed, a request changed them, or somebody asked to read them again.',
      ),

    changed: z.array(z.string()).describe('The keys whose values changed, in dotted form; the first hundred.'),
    changed_total: int64,
    warnings: int64.describe('How many warnings there are.'),
  }),
  'The city runs another configuration from this event on. `changed` names at most a hundred keys, `changed_total` counts all.',
);
export const ConfigRejectedPayload = contract(
  'ConfigRejectedPayload',
  z.strictObject({ revision: int64.describe('The revision that goes on counting.'), errors: z.array(z.string()), errors_total: int64 }),
  'The files changed and cannot be used. The city goes on with `revision`; `errors` holds at most twenty.',
);

const changes = { revision: int64, changed: z.array(z.string()).describe('The keys that changed.') };
export const AgentConfigPayload = contract(
  'AgentConfigPayload',
  z.strictObject({ agent: z.string(), ...changes }),
  'One agent of the configuration; `changed` names its keys.',
);
export const RigConfigPayload = contract(
  'RigConfigPayload',
  z.strictObject({ rig: z.string().describe('The name of the rig.'), ...changes }),
  'One rig of the configuration; `changed` names its keys.',
);
export const ProviderConfigPayload = contract(
  'ProviderConfigPayload',
  z.strictObject({ provider: z.string(), ...changes }),
  'One provider of the catalogue; `changed` names its keys.',
);
export const PackConfigPayload = contract(
  'PackConfigPayload',
  z.strictObject({ pack: z.string().describe('The binding of the import.'), ...changes }),
  'One import; `pack` is its binding, `changed` names its keys.',
);
export const PatchConfigPayload = contract(
  'PatchConfigPayload',
  z.strictObject({
    kind: z.enum(PATCH_KINDS).describe('What kind of thing is patched.'),
    target: z.string().describe('What is patched.'),
    ...changes,
  }),
  'One stored patch.',
);
export const AgentSwitchPayload = contract('AgentSwitchPayload', z.strictObject({ agent: z.string() }), 'The agent that was switched.');
export const RigSwitchPayload = contract(
  'RigSwitchPayload',
  z.strictObject({ rig: z.string().describe('The name of the rig.') }),
  'The rig that was switched.',
);

export const ConfigReloaded = defineEvent(
  'config.reloaded',
  1,
  ConfigReloadedPayload,
  'The city runs another configuration from this event on.',
);
export const ConfigRejected = defineEvent(
  'config.rejected',
  1,
  ConfigRejectedPayload,
  'The files have changed and cannot be used; the city goes on with the revision before.',
);
export const AgentCreated = defineEvent('agent.created', 1, AgentConfigPayload, 'The configuration has an agent that it had not.');
export const AgentUpdated = defineEvent('agent.updated', 1, AgentConfigPayload, 'What the configuration says of an agent has changed.');
export const AgentDeleted = defineEvent('agent.deleted', 1, AgentConfigPayload, 'The configuration has an agent no longer.');
export const AgentSuspended = defineEvent(
  'agent.suspended',
  1,
  AgentSwitchPayload,
  'Somebody has switched an agent off: no session of it is started.',
);
export const AgentResumed = defineEvent(
  'agent.resumed',
  1,
  AgentSwitchPayload,
  'Somebody has lifted the switch that kept an agent from being started.',
);
export const RigCreated = defineEvent('rig.created', 1, RigConfigPayload, 'The configuration has a rig that it had not.');
export const RigUpdated = defineEvent('rig.updated', 1, RigConfigPayload, 'What the configuration says of a rig has changed.');
export const RigDeleted = defineEvent('rig.deleted', 1, RigConfigPayload, 'The configuration has a rig no longer.');
export const RigSuspended = defineEvent('rig.suspended', 1, RigSwitchPayload, 'No agents are started in a rig.');
export const RigResumed = defineEvent('rig.resumed', 1, RigSwitchPayload, 'Agents may be started in a rig again.');
export const ProviderCreated = defineEvent(
  'provider.created',
  1,
  ProviderConfigPayload,
  'The city has a provider of its own that it had not.',
);
export const ProviderUpdated = defineEvent('provider.updated', 1, ProviderConfigPayload, 'What the city says of a provider has changed.');
export const ProviderDeleted = defineEvent('provider.deleted', 1, ProviderConfigPayload, 'The city has a provider of its own no longer.');
export const PackAdded = defineEvent('pack.added', 1, PackConfigPayload, 'The configuration has an import that it had not.');
export const PackUpdated = defineEvent('pack.updated', 1, PackConfigPayload, 'An import has changed, such as its version.');
export const PackRemoved = defineEvent('pack.removed', 1, PackConfigPayload, 'The configuration has an import no longer.');
export const PatchSet = defineEvent('patch.set', 1, PatchConfigPayload, 'A patch was stored.');
export const PatchDeleted = defineEvent('patch.deleted', 1, PatchConfigPayload, 'A stored patch is gone.');
