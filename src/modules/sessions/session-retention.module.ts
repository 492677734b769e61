import { Module } from '@nestjs/common';
import { SessionDeletionsRepository } from './session-deletions.repository.js';
import { SessionRetention } from './session-retention.service.js';

@Module({ providers: [SessionDeletionsRepository, SessionRetention], exports: [SessionRetention] })
export class SessionRetentionModule {}
