import { Module } from '@nestjs/common';
import { Authenticator } from '../../platform/http/authenticator.js';
import { KeyValidity } from '../../platform/streams/event-streams.js';
import { KeyCache } from './key-cache.js';
import { KeysController } from './keys.controller.js';
import { KeysRepository } from './keys.repository.js';
import { KeysService } from './keys.service.js';

/** API keys: their management, and the answers to "who is this" (the front door) and "is this key still good" (open streams). */
@Module({
  controllers: [KeysController],
  providers: [
    KeysRepository,
    KeysService,
    KeyCache,
    { provide: Authenticator, useExisting: KeyCache },
    { provide: KeyValidity, useExisting: KeyCache },
  ],
  exports: [Authenticator, KeyValidity],
})
export class KeysModule {}
