import type { AuditedRequest, AuditEntry } from './audited-request.js';

/** How a request was answered. */
export type Outcome = Pick<AuditEntry, 'status' | 'code' | 'reason'>;

/** Hears how requests end that may change something. The room of the records implements it; the front door finds it under this class. */
export abstract class Auditor {
  /** Called once a request, before its answer is sent. Never waits and never throws. */
  abstract answered(request: AuditedRequest, outcome: Outcome): void;
}
