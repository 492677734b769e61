import { Module } from '@nestjs/common';
import { OperationsModule } from '../../platform/operations/operations.module.js';
import { MessagesCoreModule } from '../messages/messages-core.module.js';
import { CreateEndingsRepository } from './create-endings.repository.js';
import { CreateEndings } from './create-endings.service.js';
import { SessionAccessModule } from './session-access.module.js';

/** What ends the operations that make sessions; in every process that changes sessions. */
@Module({
  imports: [MessagesCoreModule, OperationsModule, SessionAccessModule],
  providers: [CreateEndings, CreateEndingsRepository],
  exports: [CreateEndingsRepository],
})
export class SessionEndingsModule {}
