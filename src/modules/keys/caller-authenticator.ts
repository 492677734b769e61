import { Injectable } from '@nestjs/common';
import type { Principal } from '../../contract/principal.js';
import { Authenticator, SESSION_TOKEN_PREFIX } from '../../platform/http/authenticator.js';
import { SessionAuthenticator } from '../session-tokens/session-authenticator.service.js';
import { KeyCache } from './key-cache.js';

/** Everybody who can say who he is: holders of keys, and processes of sessions. */
@Injectable()
export class CallerAuthenticator extends Authenticator {
  constructor(
    private readonly keys: KeyCache,
    private readonly sessions: SessionAuthenticator,
  ) {
    super();
  }

  override authenticate(token: string): Principal | undefined | Promise<Principal | undefined> {
    return token.startsWith(SESSION_TOKEN_PREFIX) ? this.sessions.authenticate(token) : this.keys.authenticate(token);
  }

  override stillValid(keyId: string): boolean | Promise<boolean> {
    return keyId.startsWith(SESSION_TOKEN_PREFIX) ? this.sessions.stillValid(keyId) : this.keys.stillValid(keyId);
  }
}
