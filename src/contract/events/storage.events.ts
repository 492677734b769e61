import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const BackendCredentialResolvedPayload = contract(
  'BackendCredentialResolvedPayload',
  z.strictObject({
    backend: z.string().describe('The kind of store.'),
    host: z.string().describe('Its host.'),
    port: z.string().describe('Its port.'),
    scope_kind: z.string(),
    scope_name: z.string().describe('The name of that city or rig.'),
    source: z.string().describe('Where the credential was found. Never the credential.'),
    user: z.string().describe('The user that it is for.'),
  }),
  'The credential of a store was found.',
);
export const ConditionalWritesDegradedPayload = contract(
  'ConditionalWritesDegradedPayload',
  z.strictObject({
    mode: z.string(),
    origin: z.string(),
    reason: z.string(),
    store_id: z.string().describe('The store.'),
    store_kind: z.string().describe('The kind of the store.'),
    bd_version: z.string().optional().describe('The version of the tool.'),
  }),
  'A store cannot do what it should.',
);
export const ProjectIdentityStampedPayload = contract(
  'ProjectIdentityStampedPayload',
  z.strictObject({
    layer: z.string().describe('Where the identity is kept.'),
    new_id: z.string().describe('The identity now.'),
    scope_root: z.string().describe('The directory of the project.'),
    source: z.string(),
    old_id: z.string().optional().describe('The identity before.'),
  }),
  'A project has another identity.',
);
export const StorageBindingOutcomePayload = contract(
  'StorageBindingOutcomePayload',
  z.strictObject({
    binding: z.string().describe('What was bound.'),
    database: z.string().describe('The database.'),
    invariant: z.string().describe('What has to hold.'),
    outcome: z.string(),
  }),
  'What came of checking where a store is.',
);
export const StoreDiskWarnPayload = contract(
  'StoreDiskWarnPayload',
  z.strictObject({
    data_dir: z.string().describe('The directory of the store.'),
    floor_bytes: int64.describe('Below how many free bytes maintenance does nothing.'),
    free_bytes: int64.describe('How many bytes are free.'),
    warn_bytes: int64.describe('Below how many free bytes it warns.'),
  }),
  'The disk of the store is nearly full.',
);
export const StoreDiskCriticalPayload = contract(
  'StoreDiskCriticalPayload',
  z.strictObject({
    data_dir: z.string().describe('The directory of the store.'),
    floor_bytes: int64.describe('Below how many free bytes maintenance does nothing.'),
    free_bytes: int64.describe('How many bytes are free.'),
  }),
  'The disk of the store is full.',
);
export const StoreMaintenanceDonePayload = contract(
  'StoreMaintenanceDonePayload',
  z.strictObject({
    after_bytes: int64.describe('The size of the store after, in bytes.'),
    before_bytes: int64.describe('The size of the store before, in bytes.'),
    duration_s: z.number(),
    snapshot_path: z.string().describe('Always empty: nothing is copied here.'),
  }),
  'A cycle of maintenance has ended.',
);
export const StoreMaintenanceFailedPayload = contract(
  'StoreMaintenanceFailedPayload',
  z.strictObject({
    duration_s: z.number(),
    error_msg: z.string().describe('What went wrong.'),
    stage: z.string().describe('The step that failed.'),
    snapshot_path: z.string().optional().describe('Always absent: nothing is copied here.'),
  }),
  'A cycle of maintenance has failed.',
);

export const BackendCredentialResolved = defineEvent(
  'backend.credential_resolved',
  1,
  BackendCredentialResolvedPayload,
  'Where the credential of a store comes from. Known for clients; nothing here emits it.',
);
export const BeadsConditionalWritesDegraded = defineEvent(
  'beads.conditional_writes.degraded',
  1,
  ConditionalWritesDegradedPayload,
  'A store cannot write conditionally. Known for clients; nothing here emits it.',
);
export const ProjectIdentityStamped = defineEvent(
  'project.identity.stamped',
  1,
  ProjectIdentityStampedPayload,
  'A project was given an identity. Known for clients; nothing here emits it.',
);
export const StorageBindingConverged = defineEvent(
  'storage.binding.converged',
  1,
  StorageBindingOutcomePayload,
  'A store is as it should be. Known for clients; nothing here emits it.',
);
export const StorageBindingGenesis = defineEvent(
  'storage.binding.genesis',
  1,
  StorageBindingOutcomePayload,
  'A store is new. Known for clients; nothing here emits it.',
);
export const StorageBindingUnconverged = defineEvent(
  'storage.binding.unconverged',
  1,
  StorageBindingOutcomePayload,
  'A store is not as it should be. Known for clients; nothing here emits it.',
);
export const StorageBindingUncheckable = defineEvent(
  'storage.binding.uncheckable',
  1,
  StorageBindingOutcomePayload,
  'A store cannot be looked at. Known for clients; nothing here emits it.',
);
export const StoreDiskWarn = defineEvent('gc.store.disk_warn', 1, StoreDiskWarnPayload, 'The disk of a city fills up.');
export const StoreDiskCritical = defineEvent(
  'gc.store.disk_critical',
  1,
  StoreDiskCriticalPayload,
  'The disk of a city is nearly full: its maintenance removes nothing until it is not.',
);
export const StoreMaintenanceDone = defineEvent(
  'gc.store.maintenance.done',
  1,
  StoreMaintenanceDonePayload,
  'A cycle of maintenance has ended well.',
);
export const StoreMaintenanceFailed = defineEvent(
  'gc.store.maintenance.failed',
  1,
  StoreMaintenanceFailedPayload,
  'A cycle of maintenance has failed, or its worker has died.',
);
