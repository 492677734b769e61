import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const BackendCredentialResolvedPayload = contract(
  'BackendCredentialResolvedPayload',
  z.strictObject({
    backend: z.string(),
    host: z.string(),
    port: z.string(),
    scope_kind: z.string(),
    scope_name: z.string(),
    source: z.string(),
    user: z.string(),
  }),
);
export const ConditionalWritesDegradedPayload = contract(
  'ConditionalWritesDegradedPayload',
  z.strictObject({
    mode: z.string(),
    origin: z.string(),
    reason: z.string(),
    store_id: z.string(),
    store_kind: z.string(),
    bd_version: z.string().optional(),
  }),
);
export const ProjectIdentityStampedPayload = contract(
  'ProjectIdentityStampedPayload',
  z.strictObject({ layer: z.string(), new_id: z.string(), scope_root: z.string(), source: z.string(), old_id: z.string().optional() }),
);
export const StorageBindingOutcomePayload = contract(
  'StorageBindingOutcomePayload',
  z.strictObject({ binding: z.string(), database: z.string(), invariant: z.string(), outcome: z.string() }),
);
export const StoreDiskWarnPayload = contract(
  'StoreDiskWarnPayload',
  z.strictObject({ data_dir: z.string(), floor_bytes: int64, free_bytes: int64, warn_bytes: int64 }),
);
export const StoreDiskCriticalPayload = contract(
  'StoreDiskCriticalPayload',
  z.strictObject({ data_dir: z.string(), floor_bytes: int64, free_bytes: int64 }),
);
export const StoreMaintenanceDonePayload = contract(
  'StoreMaintenanceDonePayload',
  z.strictObject({ after_bytes: int64, before_bytes: int64, duration_s: z.number(), snapshot_path: z.string() }),
);
export const StoreMaintenanceFailedPayload = contract(
  'StoreMaintenanceFailedPayload',
  z.strictObject({ duration_s: z.number(), error_msg: z.string(), stage: z.string(), snapshot_path: z.string().optional() }),
);

export const BackendCredentialResolved = defineEvent('backend.credential_resolved', 1, BackendCredentialResolvedPayload);
export const BeadsConditionalWritesDegraded = defineEvent('beads.conditional_writes.degraded', 1, ConditionalWritesDegradedPayload);
export const ProjectIdentityStamped = defineEvent('project.identity.stamped', 1, ProjectIdentityStampedPayload);
export const StorageBindingConverged = defineEvent('storage.binding.converged', 1, StorageBindingOutcomePayload);
export const StorageBindingGenesis = defineEvent('storage.binding.genesis', 1, StorageBindingOutcomePayload);
export const StorageBindingUnconverged = defineEvent('storage.binding.unconverged', 1, StorageBindingOutcomePayload);
export const StorageBindingUncheckable = defineEvent('storage.binding.uncheckable', 1, StorageBindingOutcomePayload);
export const StoreDiskWarn = defineEvent('gc.store.disk_warn', 1, StoreDiskWarnPayload);
export const StoreDiskCritical = defineEvent('gc.store.disk_critical', 1, StoreDiskCriticalPayload);
export const StoreMaintenanceDone = defineEvent('gc.store.maintenance.done', 1, StoreMaintenanceDonePayload);
export const StoreMaintenanceFailed = defineEvent('gc.store.maintenance.failed', 1, StoreMaintenanceFailedPayload);
