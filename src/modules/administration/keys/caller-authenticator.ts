import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { ADAPTER_TOKEN_PREFIX, Authenticator, COMMAND_TOKEN_PREFIX, SESSION_TOKEN_PREFIX } from '../../../platform/http/authenticator.js';
import { AdapterAuthenticator } from '../../integrations/extmsg/adapters/adapter-authenticator.service.js';
import { CommandAuthenticator } from '../../sessions/session-tokens/command-authenticator.service.js';
import { SessionAuthenticator } from '../../sessions/session-tokens/session-authenticator.service.js';
import { KeyCache } from './key-cache.js';

/** Everybody who can say who he is: holders of keys, processes of sessions, commands that are run for cities, and adapters. */
@Injectable()
export class CallerAuthenticator extends Authenticator {
  constructor(
    private readonly keys: KeyCache,
    private readonly sessions: SessionAuthenticator,
    private readonly commands: CommandAuthenticator,
    private readonly adapters: AdapterAuthenticator,
  ) {
    super();
  }

  override authenticate(token: string): Principal | undefined | Promise<Principal | undefined> {
    return this.#whose(token).authenticate(token);
  }

  override stillValid(credential: string): boolean | Promise<boolean> {
    return this.#whose(credential).stillValid(credential);
  }

  #whose(shown: string): KeyCache | SessionAuthenticator | CommandAuthenticator | AdapterAuthenticator {
    if (shown.startsWith(SESSION_TOKEN_PREFIX)) return this.sessions;
    if (shown.startsWith(ADAPTER_TOKEN_PREFIX)) return this.adapters;
    return shown.startsWith(COMMAND_TOKEN_PREFIX) ? this.commands : this.keys;
  }
}
