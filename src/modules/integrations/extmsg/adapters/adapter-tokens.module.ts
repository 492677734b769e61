import { Module } from '@nestjs/common';
import { AdapterAuthenticator } from './adapter-authenticator.service.js';
import { AdaptersRepository } from './adapters.repository.js';

/** Adapters as rows, and who they are at the front door. */
@Module({ providers: [AdapterAuthenticator, AdaptersRepository], exports: [AdapterAuthenticator, AdaptersRepository] })
export class AdapterTokensModule {}
