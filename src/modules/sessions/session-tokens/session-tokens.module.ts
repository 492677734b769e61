import { Module } from '@nestjs/common';
import { SessionPolicy } from '../../../platform/http/authenticator.js';
import { CommandAuthenticator } from './command-authenticator.service.js';
import { CommandCallersRepository } from './command-callers.repository.js';
import { SessionAuthenticator } from './session-authenticator.service.js';
import { SessionCallersRepository } from './session-callers.repository.js';
import { TablePolicy } from './table-policy.js';

/** What processes of sessions, and commands of cities, may do over the API. */
@Module({
  providers: [
    CommandAuthenticator,
    CommandCallersRepository,
    SessionAuthenticator,
    SessionCallersRepository,
    TablePolicy,
    { provide: SessionPolicy, useExisting: TablePolicy },
  ],
  exports: [CommandAuthenticator, SessionAuthenticator, SessionPolicy],
})
export class SessionTokensModule {}
