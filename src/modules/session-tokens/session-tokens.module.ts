import { Module } from '@nestjs/common';
import { SessionPolicy } from '../../platform/http/authenticator.js';
import { SessionAuthenticator } from './session-authenticator.service.js';
import { SessionCallersRepository } from './session-callers.repository.js';
import { TablePolicy } from './table-policy.js';

/** What processes of sessions may do over the API. */
@Module({
  providers: [SessionAuthenticator, SessionCallersRepository, TablePolicy, { provide: SessionPolicy, useExisting: TablePolicy }],
  exports: [SessionAuthenticator, SessionPolicy],
})
export class SessionTokensModule {}
