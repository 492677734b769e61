import { Module } from '@nestjs/common';
import { AuditRepository } from '../../../platform/audit-log/audit.repository.js';
import { AuditRetention } from './audit-retention.js';

@Module({ providers: [AuditRepository, AuditRetention] })
export class AuditWorkerModule {}
