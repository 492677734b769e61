import { Module } from '@nestjs/common';
import { Authenticator } from '../../../platform/http/authenticator.js';
import { KeyValidity } from '../../../platform/streams/key-watch.js';
import { AdapterTokensModule } from '../../integrations/extmsg/adapters/adapter-tokens.module.js';
import { SessionTokensModule } from '../../sessions/session-tokens/session-tokens.module.js';
import { CallerAuthenticator } from './caller-authenticator.js';
import { KeyCache } from './key-cache.js';
import { KeysController } from './keys.controller.js';
import { KeysRepository } from './keys.repository.js';
import { KeysService } from './keys.service.js';

/** API keys: their management, and the answers to "who is this" (the front door) and "is this key still good" (open streams). */
@Module({
  imports: [AdapterTokensModule, SessionTokensModule],
  controllers: [KeysController],
  providers: [
    KeysRepository,
    KeysService,
    KeyCache,
    CallerAuthenticator,
    { provide: Authenticator, useExisting: CallerAuthenticator },
    { provide: KeyValidity, useExisting: CallerAuthenticator },
  ],
  exports: [Authenticator, KeyValidity],
})
export class KeysModule {}
