import { Module } from '@nestjs/common';
import { Auditor } from '../audit/auditor.js';
import { AuditLog } from './audit-log.js';
import { AuditRepository } from './audit.repository.js';

/** Records of requests. Of the processes that serve them. */
@Module({ providers: [AuditRepository, AuditLog, { provide: Auditor, useExisting: AuditLog }], exports: [AuditLog] })
export class AuditLogModule {}
