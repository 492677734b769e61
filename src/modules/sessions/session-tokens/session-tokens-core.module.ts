import { Module } from '@nestjs/common';
import { SessionTokens } from './session-tokens.service.js';

/** Making tokens, for runners. */
@Module({ providers: [SessionTokens], exports: [SessionTokens] })
export class SessionTokensCoreModule {}
