import { Module } from '@nestjs/common';
import { ClaimsOfSessionsRepository } from './claims-of-sessions.repository.js';
import { ClaimsOfSessions } from './claims-of-sessions.service.js';

/** What sessions hold, for every family that ends sessions. */
@Module({ providers: [ClaimsOfSessions, ClaimsOfSessionsRepository], exports: [ClaimsOfSessions] })
export class ClaimsOfSessionsModule {}
