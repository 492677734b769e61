import { Module } from '@nestjs/common';
import { AuditLogModule } from '../../../platform/audit-log/audit-log.module.js';
import { AuditController } from './audit.controller.js';
import { AuditReadsRepository } from './audit-reads.repository.js';
import { AuditService } from './audit.service.js';
import { AuditStreams } from './audit-streams.service.js';

/** Who did what with which key: to be listed and followed. */
@Module({
  imports: [AuditLogModule],
  controllers: [AuditController],
  providers: [AuditReadsRepository, AuditService, AuditStreams],
})
export class AuditModule {}
